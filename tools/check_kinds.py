#!/usr/bin/env python3
"""Fails when a file tells kinds of contact models or of steps apart that is not theirs: contact models live in src/contact, each
stepper in files of its own in src/step, and every other file of src/ asks tgStepper or tgContactModel what it needs.

What betrays a test of kinds, in code (comments and included names do not count):
  a name of a contact model or a stepper     "lcp", tgi_minimise_.., TG_EXPLICIT_OPTIONS
  a look at the physics of a model           kind->rows, kind->law: has the model rows, or a law?
  a look at which stepper it is              stepper->name, stepper == &..
The names are read from src/contact/table.c and src/step/table.c."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
src = root / "src"
models = re.findall(r"^\s*X\((\w+)\)", (src / "contact/table.c").read_text(), re.M)
steppers = re.findall(r"^\s*&tgi_(\w+),", (src / "step/table.c").read_text(), re.M)
# What of src/step is one stepper's: files that are called like it, and its helpers.
helpers = {"bounce": "impulse", "definite": "minimise", "foresee": "minimise", "objective": "minimise", "table": "all"}
names = models + steppers
betrays = [
    (re.compile(r'"(%s)"' % "|".join(names)), "names {0}"),
    (re.compile(r"\b(?:tgi?_|TG_|tgi?)(%s)(?![a-z])\w*" % "|".join(names), re.I), "uses what is of {0}"),
    (re.compile(r"\bkind->(rows|law)\b"), "asks whether a contact model has {0}"),
    (re.compile(r"\bstepper->(name)\b|\bstepper *[!=]= *(&\w+)"), "asks which stepper it is"),
]


def of_a_kind(path):
    """The file belongs to a contact model or to a stepper."""
    parts = path.relative_to(src).parts
    if parts[0] == "contact":
        return True
    return parts[0] == "step" and (path.stem in helpers or path.stem.split("_")[0] in steppers)


def code(text):
    """Without comments and includes, line by line."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return ["" if re.match(r"\s*#\s*include", line) else re.sub(r"//.*", "", line) for line in text.split("\n")]


problems = []
count = 0
for path in sorted(p for p in src.rglob("*") if p.suffix in (".c", ".h", ".def")):
    if of_a_kind(path):
        continue
    count += 1
    for i, line in enumerate(code(path.read_text()), 1):
        for pattern, what in betrays:
            for found in pattern.finditer(line):
                problems.append(f"{path.relative_to(root)}:{i}: {what.format(found.group(1) or found.group(2))}: {found.group()}")
for p in problems:
    print(p)
print(f"kinds: {len(models)} contact models, {len(steppers)} steppers, {count} files that know none of them, {len(problems)} problems")
sys.exit(1 if problems or not models or not steppers or not count else 0)
