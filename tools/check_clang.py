#!/usr/bin/env python3
"""Warnings of clang, as errors, over every source of a configured build: without making objects, a tenth of the time of a build.

usage: tools/check_clang.py BUILD_FOLDER   (one that CMake configured with clang; JOBS processes at a time, 2 if not set)
Objects and programs of clang come of the fuzz preset. Sources that several targets compile with the same flags are read once.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def reading(entry):
    """The command without what it writes."""
    words = shlex.split(entry["command"])
    if pathlib.Path(words[0]).name == "ccache":
        words = words[1:]
    at = words.index("-o")
    return tuple(words[:at] + words[at + 2:] + ["-fsyntax-only"])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    commands = {(reading(e), e["directory"]) for e in json.loads((folder / "compile_commands.json").read_text())}
    if not commands or any("clang" not in words[0] for words, _ in commands):
        sys.exit(f"{folder} was not configured with clang")

    def read(command):
        return subprocess.run(command[0], cwd=command[1], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", 2))) as pool:
        failed = [done.stdout for done in pool.map(read, sorted(commands)) if done.returncode]
    print("\n".join(failed[:20]), end="")
    print(f"clang: {len(commands)} sources read, {len(failed)} with warnings")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
