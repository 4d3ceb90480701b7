#!/usr/bin/env python3
"""usage: check_style.py

Fails on what no source file may have: lines over 140 characters, tabs, blanks at the end of a line, carriage returns, no newline at
the end, or in C a first line that is not the comment that says what the file is (CONTRIBUTING.md)."""
import pathlib
import subprocess
import sys

WIDTH = 140
root = pathlib.Path(__file__).resolve().parent.parent
checked = ["*.c", "*.h", "*.cpp", "*.def", "python/*.py", "repro/*.py"]
files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *checked], cwd=root, capture_output=True,
                       text=True, check=True).stdout.split()
problems = []
for name in files:
    text = (root / name).read_bytes().decode()
    if not text.endswith("\n"):
        problems.append(f"{name}: no newline at the end")
    if not name.endswith(".py") and not text.startswith(f"// {pathlib.Path(name).name}: "):
        problems.append(f"{name}:1: begin with '// {pathlib.Path(name).name}: what it is'")
    for i, line in enumerate(text.split("\n"), 1):
        for bad, what in (("\t", "a tab"), ("\r", "a carriage return")):
            if bad in line:
                problems.append(f"{name}:{i}: {what}")
        if len(line) > WIDTH:
            problems.append(f"{name}:{i}: {len(line)} characters, {WIDTH} are allowed")
        if line != line.rstrip(" "):
            problems.append(f"{name}:{i}: blanks at the end")
print(*problems, sep="\n", end="\n" if problems else "")
print(f"style: {len(files)} files, {len(problems)} problems")
sys.exit(1 if problems else 0)
