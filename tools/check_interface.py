#!/usr/bin/env python3
"""usage: check_interface.py [libtangere.so]

Fails when a public header does not compile alone as C17 or as C++17 without warnings, when a function is declared without
TG_API, or when the library's dynamic symbols differ from the declared functions. Lists functions that take a pointer and are
not called with NULL in test/base/test_null.c."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
folders = [root / "include", *sorted((root / "src/contact").glob("*/include"))]   # a contact model's own headers are beside it
headers = {path: path.relative_to(folder).as_posix() for folder in folders for path in sorted(folder.rglob("*.h"))}
problems = []


def compiles(compiler, options, path):
    run = subprocess.run([compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *options, *(f"-I{folder}" for folder in folders), path],
                         capture_output=True, text=True)
    if run.returncode != 0:
        problems.append(f"{os.path.basename(path)}, {compiler} {options[0]}:\n{run.stderr.strip()}")


c_compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
cxx_compilers = [c for c in ("g++", "clang++") if shutil.which(c)]
if not c_compilers or not cxx_compilers:
    sys.exit("interface: no C or no C++ compiler; tools/setup.sh test installs both")
with tempfile.TemporaryDirectory() as folder:
    for header, name in headers.items():
        line = f'#include "{name}"\n'
        for suffix, standard, compilers in ((".c", "-std=c17", c_compilers), (".cpp", "-std=c++17", cxx_compilers)):
            source = pathlib.Path(folder) / (header.stem + suffix)
            source.write_text(line + line)   # twice: guarded
            for compiler in compilers:
                compiles(compiler, [standard], str(source))

declared = set()
nulls = (root / "test/base/test_null.c").read_text()
for header in headers:
    code = re.sub(r"//[^\n]*", "", header.read_text())
    code = re.sub(r"static inline[^{]*\{[^}]*\}", "", code)   # complete in the header
    for statement in re.split(r"[;{}]", code):
        match = re.search(r"\b(tg_[a-z0-9_]+)\s*\(", statement)
        if match is None or "#define" in statement:
            continue
        declared.add(match.group(1))
        if "TG_API" not in statement:
            problems.append(f"{header.name}: {match.group(1)} is declared without TG_API")
        if "*" in statement[match.end():] and match.group(1) + "(" not in nulls:
            print(f"{header.name}: {match.group(1)} is not in test/base/test_null.c yet")

if len(sys.argv) > 1:
    listing = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout
    # the linker's, the sanitizers' and gcov's own symbols begin with an underscore, but for one of gcov's
    exported = {line.split()[-1] for line in listing.splitlines() if not line.split()[-1].startswith("_")} - {"mangle_path"}
    problems += [f"{name} is declared in include/tangere but not exported" for name in sorted(declared - exported)]
    problems += [f"{name} is exported but declared in no public header" for name in sorted(exported - declared)]

for p in problems:
    print(p)
print(f"interface: {len(headers)} headers, {len(declared)} functions, {len(problems)} problems")
sys.exit(1 if problems else 0)
