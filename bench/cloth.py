#!/usr/bin/env python3
"""Cloths of N x N vertices that hang from two corners over a plane and swing down, under `damped`, against mj_step on the same file.

usage: build/venv/bin/python bench/cloth.py [--steps S] [--rollout N] [N...]      (9 17 33 65)

Ours is bench_cloth, in a process of its own; theirs is mj_step with integrator="discrete", MuJoCo 4's implicit one for flexes, in this one. Means over
the first S steps of 5 ms. A rollout of 80 steps with its gradient for cloths of up to --rollout vertices along a side.
"""
import argparse
import json
import math
import pathlib
import subprocess
import tempfile
import time

import mujoco

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP, ROLLOUT, SIDE = 0.005, 80, 0.3


def scene(n):
    gap = SIDE / (n - 1)
    return f"""<mujoco><option timestep="{STEP}" integrator="discrete"/><worldbody><geom type="plane" size="1 1 1" friction="0.4"/>
  <body name="held" pos="0 0 0.2"><flexcomp name="c" type="grid" dim="2" count="{n} {n} 1" spacing="{gap} {gap} {gap}" mass="0.1" radius="{min(0.005, gap / 3)}">
    <elasticity young="2e4" poisson="0.3" thickness="0.001" damping="0.002" elastic2d="both"/>
    <contact selfcollide="none"/><pin id="0 {n - 1}"/></flexcomp></body></worldbody></mujoco>"""


def theirs(text, steps):
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    start = time.process_time()
    mujoco.mj_step(model, data, steps)
    return 1e3 * (time.process_time() - start) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rollout", type=int, default=33)
    parser.add_argument("side", type=int, nargs="*", default=[9, 17, 33, 65])
    options = parser.parse_args()
    print("| vertices | dofs | factors, MB | Newton steps | a step, ms | its adjoint, ms | 80 steps with gradient, s | process, MB | mj_step, ms | ratio |"
          "\n|---|---|---|---|---|---|---|---|---|---|")
    last = None
    for n in options.side:
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(scene(n))
            file.flush()
            rollout = ROLLOUT if n <= options.rollout else 0
            command = [ROOT / "build/bin/bench_cloth", file.name, str(options.steps), str(STEP), str(rollout)]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        other = theirs(scene(n), options.steps)
        dense = ", dense" if row["dense"] else ""
        print(f"| {n} x {n} | {row['dofs']} | {1e-6 * row['factors']:.2g}{dense} | {row['newton']:.1f} | {row['step']:.2f} | {row['adjoint']:.2f} | "
              f"{row['rollout'] or math.nan:.2f} | {1e-6 * row['bytes']:.0f} | {other:.2f} | {row['step'] / other:.1f} |", flush=True)
        if last:
            both = row["step"] + row["adjoint"], last[1]["step"] + last[1]["adjoint"]
            print(f"exponent over vertices from {last[0]} x {last[0]}: {math.log(both[0] / both[1]) / math.log(n * n / last[0] ** 2):.2f}")
        last = n, row


if __name__ == "__main__":
    main()
