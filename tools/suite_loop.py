#!/usr/bin/env python3
"""Motions of the suite in closed loop in MuJoCo: each is followed by a controller that plans anew by gradient from the state that MuJoCo is in.

usage: tools/suite_loop.py [--tasks push_far] [--seeds 10] [--out build/suite] [--every 0.1] [--iterations 12] [--rate 0.02] [--seconds 0] [--hard]

Of runs that tools/suite.py left under --out. The world is MuJoCo by its own solver in steps of 1 ms, and contacts as the file has them; the
plan is the task, under its contact model and in its steps, with controls of --every seconds, by that many iterations of Adam from what is left
of the plan before, at first from the motion that was found. What is done is judged by the task's own criterion, beside the same motion in
open loop. What is finished is skipped; OUT/loop.json and OUT/loop.md are written after every run. Needs NumPy, MuJoCo and the package tangere.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys
import time

import numpy as np
import suite

STEP = 1e-3                # of MuJoCo [s]; half of it with --hard


def looped(text, every, iterations, rate):
    """The task as a controller plans it: controls of `every` steps, all of the horizon that is left, Adam, no replays."""
    for field in ("refine", "verify", "receding", "optimizer", "effort"):
        text = suite.without(text, field)
    steps = int(suite.number(text, "horizon", "steps", 0))
    return (suite.setting(re.sub(r", stage: \d+", "", text), "controls", "every", every).rstrip("\n") +
            f"\noptimizer: {{method: adam, iterations: {iterations}, rate: {rate}}}\nreceding: {{horizon: {steps}, apply: {every}}}\n")


def world(task, hard):
    """MuJoCo's model of the task's file, and how many of its steps are one of the task's."""
    import mujoco
    import tangere.mujoco
    model = mujoco.MjModel.from_xml_path(task.model_path)
    if hard:
        tangere.mujoco._harden(model)
    sub = max(1, round(task.dt / (STEP / 2 if hard else STEP)))
    model.opt.timestep = task.dt / sub
    return model, sub


def close(task, controller, model, sub, q0, v0):
    """The states at the task's times, the controller in the loop; how long each plan took [s], and how many failed."""
    import mujoco
    import tangere
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.act[:] = q0, v0[:model.nv], v0[model.nv:]
    q, v, took, failed, planned = [data.qpos.copy()], [np.append(data.qvel, data.act)], [], 0, None
    for k in range(task.steps):
        try:
            data.ctrl[:] = controller(k * task.dt, data.qpos, np.append(data.qvel, data.act))
        except tangere.Error:                          # the plan before stands
            failed += 1
            data.ctrl[:] = controller.control(k * task.dt)
        if controller.last["time"] != planned:
            planned = controller.last["time"]
            took.append(controller.last["seconds"])
        for _ in range(sub):
            mujoco.mj_step(model, data)
        q.append(data.qpos.copy())
        v.append(np.append(data.qvel, data.act))
    return np.array(q), np.array(v), took, failed


def follow(folder, options):
    """A row of the table: of the run in `folder`."""
    import tangere as tg
    import tangere.mujoco
    found = tg.Task(folder / "task.yaml")
    with np.load(folder / "run/trajectory.npz", allow_pickle=False) as kept:
        x = kept["variables"]
    q0, v0, u = found.expand(x)
    text = (folder / "task.yaml").read_text()
    (folder / "loop.yaml").write_text(looped(text, max(1, round(options.every / found.dt)), options.iterations, options.rate))
    task = tg.Task(folder / "loop.yaml")
    controller = tg.Controller(task, seconds=options.seconds, threads=1)
    controller.give(u, found.dt)
    model, sub = world(task, options.hard)
    began = time.process_time()
    q, v, took, failed = close(task, controller, model, sub, q0, v0)
    row = found.judge(x, q, v)
    return {"distance": row["distance"], "verdict": row["verdict"], "open": tangere.mujoco.verify(found, x, hard=options.hard)["distance"],
            "plan_seconds": statistics.median(took), "plans": len(took), "failed": failed, "cpu_seconds": time.process_time() - began}


def table(rows):
    lines = ["| task | seed | open loop leaves | closed loop leaves | verdict | plans, failed | a plan takes |", "|---|---|---|---|---|---|---|"]
    lines += [f"| `{r['task']}` | {r['seed']} | {100 * r['open']:.2g} cm | {100 * r['distance']:.2g} cm | {r['verdict']} | {r['plans']}, {r['failed']} | {r['plan_seconds']:.2g} s |"
              for r in rows]
    return "\n".join(lines) + "\n"


def main(words):
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--tasks", default="push_far", help="names, separated by commas")
    a.add_argument("--seeds", default="10", help="how many, from 1 on; or which: 1,4,9")
    a.add_argument("--out", type=pathlib.Path, default=suite.ROOT / "build/suite", help="where tools/suite.py left its runs")
    a.add_argument("--every", type=float, default=0.1, help="time between plans, and of a control [s]")
    a.add_argument("--iterations", type=int, default=12, help="of a plan")
    a.add_argument("--rate", type=float, default=0.02, help="of Adam, in units of the controls")
    a.add_argument("--seconds", type=float, default=0, help="no iteration of a plan begins later [s]; 0: no limit")
    a.add_argument("--hard", action="store_true", help="MuJoCo's hardest contacts, in place of the file's")
    options = a.parse_args(words)
    seeds = [int(s) for s in options.seeds.split(",")] if "," in options.seeds else range(1, int(options.seeds) + 1)
    kept = options.out / ("loop_hard.json" if options.hard else "loop.json")
    rows = json.loads(kept.read_text()) if kept.exists() else []
    for name in options.tasks.split(","):
        for seed in seeds:
            folder = options.out / name / str(seed)
            if any((r["task"], r["seed"]) == (name, seed) for r in rows):
                continue
            if not (folder / "run/trajectory.npz").exists() or not (folder / "state.json").exists() or "code" not in json.loads((folder / "state.json").read_text()):
                print(f"{name} {seed}: no motion; tools/suite.py finds one", flush=True)
                continue
            rows.append({"task": name, "seed": seed, **follow(folder, options)})
            suite.write(kept, json.dumps(rows, indent=1))
            suite.write(kept.with_suffix(".md"), table(rows))
            print(f"{name} {seed}: {100 * rows[-1]['distance']:.2g} cm left, {100 * rows[-1]['open']:.2g} in open loop", flush=True)
    print(table(rows), end="")
    return 0 if rows and all(r["verdict"] == "holds" for r in rows) else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
