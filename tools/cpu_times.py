#!/usr/bin/env python3
"""CPU seconds (user and system) of the parts of `make test`, and of each test of a build: what a loaded machine does not change much.

usage: tools/cpu_times.py parts [PART ...]               the targets of make (without names: all of make test), each after the other
       tools/cpu_times.py tests PRESET [CTEST OPTION...] each test that ctest would run there, one at a time, dearest first
       tools/cpu_times.py command WORD...                one command
A table goes to standard output. A part that fails is marked, and the exit status is 1. Compilers behind a compiler cache cost nothing the
second time: CCACHE_RECACHE=1 measures as on a fresh machine, except for what two parts share.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PARTS = ["setup-test", "viewer", "checks", "test-release", "test-clang", "test-asan", "test-tsan", "test-fuzz", "test-peers", "test-python", "docs",
         "test-viewer"]


def measure(words, quiet=False, **how):
    """CPU seconds of a command and of all it waited for, wall seconds, exit status."""
    start = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL if quiet else sys.stderr, stderr=subprocess.STDOUT if quiet else None, **how)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, time.monotonic() - start, child.returncode


def table(rows):
    print(f"{'CPU s':>9} {'wall s':>9}  what")
    for name, (cpu, wall, code) in rows:
        print(f"{cpu:9.2f} {wall:9.2f}  {name}{'' if code == 0 else f'  FAILED ({code})'}")
    print(f"{sum(r[1][0] for r in rows):9.2f} {sum(r[1][1] for r in rows):9.2f}  together ({len(rows)})")
    return int(any(r[1][2] for r in rows))


def tests_of(preset, options):
    said = subprocess.run(["ctest", "--preset", preset, *options, "--show-only=json-v1"], cwd=ROOT, check=True, capture_output=True, text=True)
    for test in json.loads(said.stdout)["tests"]:
        about = {p["name"]: p["value"] for p in test.get("properties", [])}
        environment = dict(os.environ, **dict(e.split("=", 1) for e in about.get("ENVIRONMENT", [])))
        yield test["name"], test["command"], dict(env=environment, cwd=about.get("WORKING_DIRECTORY", ROOT))


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("parts", "tests", "command") or (sys.argv[1] != "parts" and len(sys.argv) < 3):
        sys.exit(__doc__)
    what, words = sys.argv[1], sys.argv[2:]
    if what == "parts":
        return table([(name, measure(["make", "--no-print-directory", name], cwd=ROOT)) for name in words or PARTS])
    if what == "command":
        return table([(" ".join(words), measure(words))])
    rows = [(name, measure(command, quiet=True, **how)) for name, command, how in tests_of(words[0], words[1:])]
    return table(sorted(rows, key=lambda row: -row[1][0]))


if __name__ == "__main__":
    sys.exit(main())
