#!/usr/bin/env python3
"""Fails when a file of src/ includes a folder that comes after its own in src/LAYERS, when public headers include
private ones, or when two files include each other."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
src = root / "src"
order = [line.strip() for line in (src / "LAYERS").read_text().splitlines() if line.strip() and not line.startswith("#")]
rank = {name: i for i, name in enumerate(order)}
include = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
problems = []
graph = {}

for path in sorted(src.rglob("*")):
    if path.suffix not in (".c", ".h", ".def"):
        continue
    name = path.relative_to(src).as_posix()
    folder = name.split("/")[0]
    if folder not in rank:
        problems.append(f"{name}: folder '{folder}' is not in src/LAYERS")
        continue
    graph[name] = []
    for target in include.findall(path.read_text()):
        if target.startswith("tangere/"):
            continue
        if not (src / target).exists():
            problems.append(f"{name}: includes \"{target}\", which is not a path below src/")
            continue
        graph[name].append(target)
        other = target.split("/")[0]
        if rank.get(other, 99) > rank[folder]:
            problems.append(f"{name}: includes \"{target}\", a later layer than its own ({folder})")
        if folder == "contact" and other == "contact":
            own, its = name.split("/")[1:-1], target.split("/")[1:-1]
            if its and own != its and name != "contact/table.c":
                problems.append(f"{name}: contact models must not know of each other ({target})")

for path in sorted((root / "include").rglob("*.h")):
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
print(f"layers: {len(graph)} files, {len(problems)} problems")
sys.exit(1 if problems else 0)
