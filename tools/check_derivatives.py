#!/usr/bin/env python3
"""Fails when a derivative function that a header declares is named in no test: names ending in _d, _vjp, _jvp or _jacobian,
or holding _jr, and of second derivatives in _hvp, _hvp_parameters or (public ones) _hessian; and when a number of a contact
model that is listed with a derivative (X(PARAMETER, ..): tangere/option.h) is named in no test as the parameter "contact.NAME". A name in a test file's comment does not count."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
declared = {}
pattern = re.compile(r"\b(tgi?_[a-z0-9_]*(?:_d|_vjp|_jacobian|_jr|_jr_inv|_jvp|_hvp|_hvp_parameters)|tg_[a-z0-9_]*_hessian)\s*\(")
comment = re.compile(r"//.*|/\*.*?\*/", re.S)


def code(path):
    return re.sub(r"//[^\n]*", "", path.read_text())


for header in sorted(list((root / "src").rglob("*.h")) + list((root / "include").rglob("*.h"))):
    for name in pattern.findall(code(header)):
        declared.setdefault(name, header.relative_to(root).as_posix())
tests = "\n".join(code(p) for p in (root / "test").rglob("*") if p.suffix in (".c", ".py"))
missing = [n for n in sorted(declared) if not re.search(r"\b" + n + r"\b", tests)]
for name in missing:
    print(f"{declared[name]}: {name} is a derivative that no test calls")
numbers = {}
for source in sorted(list((root / "src").rglob("*.h")) + list((root / "include").rglob("*.h"))):
    for name in re.findall(r"\bX\(PARAMETER,\s*(\w+)", code(source)):
        numbers["contact." + name] = source.relative_to(root).as_posix()
untested = [n for n in sorted(numbers) if '"' + n + '"' not in tests]
for name in untested:
    print(f"{numbers[name]}: {name} has a derivative that no test asks for")
print(f"derivatives: {len(declared)} declared, {len(numbers)} numbers of contact models, {len(missing) + len(untested)} without a test")
sys.exit(1 if missing or untested else 0)
