#!/usr/bin/env python3
"""Instructions of eight kernels, by valgrind's callgrind, held to those of the last release: other programs do not disturb them.

    tools/instructions.py            counts, and compares with tools/instructions.json: exit code 1 where a kernel takes 2 % more
    tools/instructions.py --write    counts, and writes tools/instructions.json: done at a release
    tools/instructions.py --only REGEX

A kernel is a command of build/bin/tangere at two lengths; what the longer takes more, over how much longer it is, is free of reading files
and of the start. Valgrind knows AVX2 and no AVX-512, so the library takes its AVX2 paths where the processor has them. Counts are of a
compiler and a C library, which stand in the file: with others they are not compared, and the exit code is 2."""
import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXE = ROOT / "build" / "bin" / "tangere"
KEPT = ROOT / "tools" / "instructions.json"
MOST = 1.02
SIMULATE = ["simulate", "--no-replay", "--json"]
# name: (command, option of the length, the two lengths)
KERNELS = {
    "lcp step, half cheetah": ([*SIMULATE, "models/half_cheetah.xml", "--contact", "lcp"], "--steps", 40, 140),
    "toi step, half cheetah": ([*SIMULATE, "models/half_cheetah.xml", "--contact", "toi"], "--steps", 40, 100),
    "barrier step, half cheetah": ([*SIMULATE, "models/half_cheetah.xml", "--contact", "barrier"], "--steps", 5, 25),
    "softmin step, ball": ([*SIMULATE, "samples/ball.xml", "--contact", "softmin", "--dt", "0.0001"], "--steps", 5, 15),
    "damped step, half cheetah": ([*SIMULATE, "models/half_cheetah.xml", "--contact", "damped"], "--steps", 5, 25),
    "lcp step, humanoid": ([*SIMULATE, "models/humanoid33.xml", "--contact", "lcp"], "--steps", 10, 30),
    "rollout and adjoint, two balls": (["batch", "models/two_balls.yaml", "--threads", "1", "--json"], "--count", 2, 6),
    "rollouts and Jacobians, cart and pole": (["optimize", "models/cartpole.yaml", "--method", "gauss_newton", "--no-replay", "--json"], "--iterations", 2, 3),
}


def count(command):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", EXE, *command, *(["--out", f"{folder}/o"] if command[0] != "batch" else [])], cwd=ROOT,
                              capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"))
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found or done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return int(found[1])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--write", action="store_true")
    p.add_argument("--only", default="")
    args = p.parse_args()
    # the compiler of the build that build/bin/tangere is of
    cache = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", (ROOT / "build" / "release" / "CMakeCache.txt").read_text(), re.M)
    of = dict(compiler=subprocess.run([cache[1], "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0], libc=" ".join(platform.libc_ver()), valgrind=subprocess.run(["valgrind", "--version"], capture_output=True, text=True).stdout.strip())
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else dict(of={}, counts={})
    same, counts, worse = kept["of"] == of, {}, []
    for name, (command, option, short, long) in KERNELS.items():
        if not re.search(args.only, name):
            continue
        few, many = (count([*command, option, str(n)]) for n in (short, long))
        counts[name] = round((many - few) / (long - short))
        before = kept["counts"].get(name)
        ratio = counts[name] / before if before else float("nan")
        print(f"{name:40} {counts[name]:12,}   {ratio:.4f} of {before if before else 'none'}", flush=True)
        if ratio > MOST:
            worse.append(name)
    if args.write:
        KEPT.write_text(json.dumps(dict(of=of, counts={**kept["counts"], **counts} if same else counts), indent=1) + "\n")
        return 0
    if not same:
        print(f"not compared: counts are of {kept['of']}, here is {of}")
        return 2
    for name in worse:
        print(f"{name}: more than {MOST} times the instructions of the last release")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
