#!/usr/bin/env python3
"""Fails when a file of src/ includes a folder that comes after its own in src/LAYERS, when public headers include
private ones, when a program (src/cli, repro/) includes anything of the library but its public headers, or when two
files include each other. A folder with rooms has a LAYERS of its own, in which "." stands for the files beside it."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
src = root / "src"
# of each folder that orders what is in it: place of each entry
rank = {}
for path in src.rglob("LAYERS"):
    order = [line.strip() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    rank[path.relative_to(src).parts[:-1]] = {name: i for i, name in enumerate(order)}
# where public headers are: those of all, and each contact model's own beside it
public = [root / "include", *sorted(src.glob("contact/*/include"))]
own_header = {path.relative_to(folder).as_posix(): folder.parent.name for folder in public[1:] for path in folder.rglob("*.h")}
include = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
problems = []
graph = {}


def entry(name, folder):
    """What of the folder the file is in: a folder below, or "."."""
    below = name.split("/")[len(folder):]
    return below[0] if len(below) > 1 else "."


def unplaced(name):
    return [f"{name}: folder '{entry(name, f)}' is not in {'/'.join(('src',) + f)}/LAYERS"
            for f in rank if tuple(name.split("/")[:len(f)]) == f and entry(name, f) not in rank[f]]


def later(name, target):
    """The entry of the deepest ordered folder of both that the target is in, where it comes after the file's own."""
    shared = [f for f in rank if all(tuple(x.split("/")[:len(f)]) == f for x in (name, target))]
    f = max(shared, key=len)
    own, its = entry(name, f), entry(target, f)
    return its if rank[f].get(its, 99) > rank[f].get(own, 99) else None


for path in sorted(src.rglob("*")):
    if path.suffix not in (".c", ".h", ".def") or any(folder in path.parents for folder in public):
        continue
    name = path.relative_to(src).as_posix()
    if unplaced(name):
        problems += unplaced(name)
        continue
    graph[name] = []
    for target in include.findall(path.read_text()):
        if name.startswith("contact/") and own_header.get(target, name.split("/")[1]) != name.split("/")[1]:
            problems.append(f"{name}: contact models must not know of each other ({target})")
        if target.startswith("tangere/"):
            continue
        if not (src / target).exists():
            problems.append(f"{name}: includes \"{target}\", which is not a path below src/")
            continue
        graph[name].append(target)
        if later(name, target):
            problems.append(f"{name}: includes \"{target}\", of a later layer than its own ({later(name, target)})")
        if name.startswith("contact/") and target.startswith("contact/"):
            own, its = name.split("/")[1:-1][:1], target.split("/")[1:-1][:1]
            if its and own != its and name != "contact/table.c":
                problems.append(f"{name}: contact models must not know of each other ({target})")

# Programs: what a file of a folder may include. They show that the public interface suffices.
programs = {"src/cli/shared": ("tangere/", "cli/shared/"), "src/cli": ("tangere/", "cli/"), "repro": ("tangere/", "cli/shared/", "repro/")}
of_programs = 0
for folder, allowed in programs.items():
    for path in sorted((root / folder).rglob("*.[ch]")):
        name = path.relative_to(root).as_posix()
        if folder == "src/cli" and name.startswith("src/cli/shared/"):
            continue
        of_programs += 1
        for target in include.findall(path.read_text()):
            if not target.startswith(allowed):
                problems.append(f"{name}: includes \"{target}\"; a program takes the public interface, {' or '.join(allowed)}")
if of_programs == 0:
    problems.append("no file of the programs was found")

for path in sorted(p for folder in public for p in folder.rglob("*.h")):
    for target in include.findall(path.read_text()):
        if not target.startswith("tangere/"):
            problems.append(f"{path.relative_to(root)}: a public header includes \"{target}\"")


def cycle(name, stack, done):
    if name in stack:
        return stack[stack.index(name):] + [name]
    if name in done:
        return None
    for target in graph.get(name, []):
        found = cycle(target, stack + [name], done)
        if found:
            return found
    done.add(name)
    return None


done = set()
for name in graph:
    found = cycle(name, [], done)
    if found:
        problems.append("include cycle: " + " -> ".join(found))
        break

for p in problems:
    print(p)
print(f"layers: {len(graph)} files, {of_programs} of programs on public headers alone, {len(problems)} problems")
sys.exit(1 if problems else 0)
