#!/usr/bin/env python3
"""The figure docs/pictures/demo_steps.svg: how far `make demo` leaves its box from the target when its controls are replayed in other steps.

usage: tools/demo_steps.py [--folder build/demo_steps]

Before: the task that the demo was until motions were replayed before they count, one stage in steps of 40 ms. Now: models/push_demo.yaml. Controls are
held in time as they were found, and each motion is replayed under `barrier`, `lcp` and `toi`, all with friction in a cone, in steps from its own down to 0.25 ms, and in MuJoCo. Needs the packages
tangere, mujoco and matplotlib. The figures are printed as a table and stand in FOLDER/demo_steps.csv; what is there already is not made again.
"""
import argparse
import csv
import math
import pathlib
import re

import numpy as np

import tangere as tg
import tangere.mujoco

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET, WANTED = np.array([0.8, 0.0]), 0.06     # of the box's centre [m], as the task has them
STEPS = (0.04, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.00025)   # [s]
# the demo's task on 2026-11-22
BEFORE = """model: push.xml
contact: barrier
options: {weight: 1.0e-6}
horizon: {steps: 160, timestep: 0.04}
controls: {}
losses:
  - {term: body_com, name: box, target: [0.8, 0, 0], axes: xy, tolerance: 0.05, weight: 1.0e+9, at: all}
optimizer: {method: adam, iterations: 20, rate: 0.015, beta1: 0.3, beta2: 0.5}
receding: {horizon: 40, apply: 4, fill: hold}
success: {distance: 0.06}
verify: {rows: [none]}
"""
MODELS = ("barrier", "lcp", "toi", "mujoco")


def found(folder, name, text):
    """The task, and the decision variables that it comes to."""
    file, kept = folder / f"{name}.yaml", folder / f"{name}.npy"
    file.write_text(re.sub(r"^model: *(\S+)", lambda m: f"model: {ROOT / 'models' / m[1]}", text, flags=re.M))
    task = tg.Task(file)
    if not kept.exists():
        np.save(kept, task.optimize(verify=name == "now").x)
    return task, np.load(kept)


def left(task, x, contact, h):
    """Distance of the box from its target at the end [m]; NaN: the motion ended early."""
    sub = round(task.dt / h)
    h = task.dt / sub
    if contact == "mujoco":
        import mujoco
        model = mujoco.MjModel.from_xml_path(task.model_path)
        q = tangere.mujoco.states(task, x, model, h, sub)[0][-1]
    else:
        q0, v0, u = task.expand(x)
        options = {"weight": 1e-6} if contact == "barrier" else {"friction_cone": "elliptic"}
        sim = tg.Sim(tg.load(task.model_path), contact=contact, dt=h, **options)
        sim.qpos[:], sim.qvel[:] = q0, v0
        try:
            for control in u:
                sim.ctrl[:] = control
                for _ in range(sub):
                    sim.step()
        except tg.Error as ended:
            print(f"{contact}, {1000 * h:g} ms: {ended}")
            return math.nan
        q = sim.qpos
    at = task.sim(x).model.joint("box").qadr
    return float(np.hypot(*(np.asarray(q)[at:at + 2] - TARGET)))


def table(folder):
    rows = []
    for name, text in (("before", BEFORE), ("now", (ROOT / "models/push_demo.yaml").read_text())):
        task, x = found(folder, name, text)
        for contact in MODELS:
            for h in STEPS:
                if h <= task.dt * (1 + 1e-9) and (contact != "mujoco" or h <= 0.005):
                    rows.append((name, contact, h, left(task, x, contact, h)))
                    print(f"{name:7} {contact:8} {1000 * h:6g} ms  {100 * rows[-1][3]:6.1f} cm", flush=True)
    return rows


def draw(rows, file):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "demo_steps"
    import matplotlib.pyplot as plt
    figure, sides = plt.subplots(1, 2, figsize=(8.4, 3.4), sharey=True, layout="constrained")
    titles = {"before": "before: one stage, steps of 40 ms", "now": "now: three stages, held to its replays"}
    colours = dict(zip(MODELS, ("#c0504d", "#2f6db0", "#3a9a5b", "#8a8a8a")))
    for side, name in zip(sides, titles):
        for contact in MODELS:
            own = [(1000 * h, 100 * d) for n, c, h, d in rows if n == name and c == contact and math.isfinite(d)]
            side.plot(*zip(*own), "o-", color=colours[contact], label="MuJoCo" if contact == "mujoco" else contact, markersize=4, linewidth=1.3)
        side.axhline(100 * WANTED, color="black", linewidth=0.8, linestyle=":")
        side.set(xscale="log", yscale="log", title=titles[name], xlabel="step of the replay [ms]")
        side.grid(alpha=0.25)
    sides[0].set_ylabel("box from its target at the end [cm]")
    sides[0].text(0.25, 100 * WANTED * 1.1, "wanted", fontsize=8)
    sides[1].legend(fontsize=8)
    figure.savefig(file, metadata={"Date": None})


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/demo_steps")
    folder = a.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "demo_steps.csv"
    if not file.exists():
        rows = table(folder)
        with open(file, "w", newline="") as out:
            csv.writer(out).writerows([("task", "contact", "step_s", "left_m"), *rows])
    with open(file, newline="") as kept:
        rows = [(r["task"], r["contact"], float(r["step_s"]), float(r["left_m"])) for r in csv.DictReader(kept)]
    draw(rows, ROOT / "docs/pictures/demo_steps.svg")


if __name__ == "__main__":
    main()
