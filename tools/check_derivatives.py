#!/usr/bin/env python3
"""Fails when a derivative function that a header declares is named in no test: names ending in _d, _vjp or _jacobian,
or holding _jr. A name in a test file's comment does not count."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
declared = {}
pattern = re.compile(r"\b(tgi?_[a-z0-9_]*(?:_d|_vjp|_jacobian|_jr|_jr_inv|_hvp))\s*\(")
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
print(f"derivatives: {len(declared)} declared, {len(missing)} without a test")
sys.exit(1 if missing else 0)
