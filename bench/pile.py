#!/usr/bin/env python3
"""Piles: N free bodies, four spheres to a box, that fall into a bin and come to rest, against mj_step on the same file.

usage: build/venv/bin/python bench/pile.py [--seconds S] [--rule RULE] [--cap S] [N...]      (27 64 150)

Radii and half sides are 0.03 to 0.05 m, from a generator with a seed; the bin is as wide as it is filled high. Ours is bench_pile on that file, in a
process of its own; theirs is mj_step, Euler, its default solver, the whole time in one thread; both as time of the thread on a core. A row tells of
each third of the motion the mean time of a step of both and their ratio; steps that failed, that fell back and that left overlaps as they
are; impacts; the most energy that a step added beyond what it reports; memory of our simulation, rows at the end, how far bodies overlap there;
labels of the adjoints of every 20th step: exact, one-sided, less. 250 bodies are 200 balls and 50 boxes. --cap: ours ends after so many
seconds on the core, theirs after as many steps.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import time

import mujoco

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP = 0.005


def scene(n):
    draw = random.Random(n)
    side = max(2, round((n / 2) ** (1 / 3)) + 1)
    half = 0.055 * side
    walls = "".join(f'<geom type="plane" size="2 2 1" pos="{x * half:.6g} {y * half:.6g} 0" zaxis="{-x} {-y} 0"/>'
                    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)))
    bodies = ""
    for k in range(n):
        cell = (k % side, k // side % side, k // side ** 2)
        at = [0.11 * (c + 0.5) - (half if i < 2 else 0) + draw.uniform(-0.004, 0.004) for i, c in enumerate(cell)]
        sizes = [draw.uniform(0.03, 0.05) for _ in range(3)]
        shape = f'type="box" size="{sizes[0] * .6:.6g} {sizes[1] * .6:.6g} {sizes[2] * .6:.6g}"' if k % 5 == 4 \
            else f'type="sphere" size="{sizes[0]:.6g}"'
        bodies += f'<body pos="{at[0]:.6g} {at[1]:.6g} {at[2] + 0.02:.6g}"><freejoint/><geom {shape} density="1000"/></body>\n'
    return f'<mujoco><option timestep="{STEP}" integrator="Euler"/><default><geom friction=".5" condim="3"/></default>\n' \
        f'<worldbody><geom type="plane" size="2 2 1"/>{walls}\n{bodies}</worldbody></mujoco>\n'


def theirs(path, steps):
    """Means of a step in ms, over each count of `steps`."""
    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    times = []
    for count in steps:
        start = time.thread_time()
        mujoco.mj_step(model, data, count)
        times.append(1e3 * (time.thread_time() - start) / max(1, count))
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("n", nargs="*", type=int, default=[27, 64, 150])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rule", default="touching")
    parser.add_argument("--cap", type=float, default=1e9)
    args = parser.parse_args()
    steps = round(args.seconds / STEP)
    print(f"{'bodies':>6} {'third':>5} {'steps':>5} {'ours ms':>9} {'worst ms':>9} {'mj_step':>8} {'ratio':>6} {'failed':>6} {'back':>4} {'left':>4} {'impacts':>7} "
          f"{'gain J':>8} {'MB':>7} {'rows':>5} {'adjoint ms':>10} {'overlap m':>9} labels")
    for n in args.n:
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(scene(n))
            file.flush()
            out = subprocess.run([ROOT / "build/bin/bench_pile", file.name, str(steps), str(STEP), args.rule, str(args.cap)], check=True, capture_output=True, text=True)
            rows = json.loads(out.stdout)
            peer = theirs(file.name, [row["steps"] for row in rows])
            for third, (row, ms) in enumerate(zip(rows, peer)):
                print(f"{n:6d} {third + 1:5d} {row['steps']:5d} {row['ms']:9.3f} {row['worst']:9.2f} {ms:8.3f} {row['ms'] / max(ms, 1e-9):6.1f} {row['failed']:6d} "
                      f"{row['fallback']:4d} {row['left']:4d} {row['impacts']:7d} {row['gain']:8.1e} {row['bytes'] / 1e6:7.1f} {row['rows']:5d} {row['adjoint']:10.3f} {row['overlap']:9.1e} {row['labels']}", flush=True)


if __name__ == "__main__":
    main()
