#!/usr/bin/env python3
"""Motions of the suite in closed loop in MuJoCo: each is followed by a controller that plans anew from the state that MuJoCo is in.

usage: tools/suite_loop.py [--tasks push_far] [--seeds 10] [--out build/suite] [--seconds 0] [--hard]

Of runs that tools/suite.py left under --out. The world is MuJoCo by its own solver in steps of 1 ms, and contacts as the file has them. The
controller's task is models/tasks/loop/TASK.yaml, with start and target of the run's seed; it begins with the motion that was found, is given
the state of MuJoCo when a plan is due, and searches for another way where its plans stall. The distance left is that of the run's task; it
holds within the success distance of the controller's task. Beside it stands the same motion in open loop. What is finished is skipped;
OUT/loop.json and OUT/loop.md are written after every run.
Needs NumPy, MuJoCo and the package tangere.
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


def looped(name, seed):
    """The task of the controller: start, target and model as tools/suite.py draws them."""
    text = (suite.TASKS / f"loop/{name}.yaml").read_text()
    for place, value in suite.draw(name, seed).items():
        text = suite.shift(text, place, value)
    model = re.search(r"^model: *(\S+)", text, re.M)
    return text[:model.start(1)] + str((suite.TASKS / pathlib.Path(model[1]).name).resolve()) + text[model.end(1):]


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
    """The states at the task's times, the controller in the loop; of its plans how long each took [s], how many failed, the iterations and searches of all."""
    import mujoco
    import tangere
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.act[:] = q0, v0[:model.nv], v0[model.nv:]
    q, v, took, failed, iterations, planned = [data.qpos.copy()], [np.append(data.qvel, data.act)], [], 0, [0, 0], None
    for k in range(task.steps):
        try:
            data.ctrl[:] = controller(k * task.dt, data.qpos, np.append(data.qvel, data.act))
        except tangere.Error:                          # the plan before stands
            failed += 1
            data.ctrl[:] = controller.control(k * task.dt)
        if controller.last["time"] != planned:
            planned = controller.last["time"]
            took.append(controller.last["seconds"])
            iterations[0] += controller.last["iterations"]
            iterations[1] += controller.last["searched"] > 0
        for _ in range(sub):
            mujoco.mj_step(model, data)
        q.append(data.qpos.copy())
        v.append(np.append(data.qvel, data.act))
    return np.array(q), np.array(v), took, failed, iterations


def follow(folder, name, seed, options):
    """A row of the table: of the run in `folder`."""
    import tangere as tg
    import tangere.mujoco
    found = tg.Task(folder / "task.yaml")
    with np.load(folder / "run/trajectory.npz", allow_pickle=False) as kept:
        x = kept["variables"]
    q0, v0, u = found.expand(x)
    suite.write(folder / "loop.yaml", looped(name, seed))
    task = tg.Task(folder / "loop.yaml")
    controller = tg.Controller(task, seconds=options.seconds, threads=1, separate=True)
    controller.give(u, found.dt)
    model, sub = world(task, options.hard)
    began = time.process_time()
    q, v, took, failed, iterations = close(task, controller, model, sub, q0, v0)
    left = found.judge(x, q, v)["distance"]
    return {"distance": left, "verdict": "holds" if left <= task.success_distance else "misses", "open": tangere.mujoco.verify(found, x, hard=options.hard)["distance"],
            "plan_seconds": statistics.median(took), "plans": len(took), "failed": failed, "iterations": iterations[0], "searches": iterations[1],
            "cpu_seconds": time.process_time() - began}


def table(rows):
    lines = ["| task | seed | open loop leaves | closed loop leaves | verdict | plans, failed | iterations of all | searches | time of the processor |", "|---|---|---|---|---|---|---|---|---|"]
    lines += [f"| `{r['task']}` | {r['seed']} | {100 * r['open']:.2g} cm | {100 * r['distance']:.2g} cm | {r['verdict']} | {r['plans']}, {r['failed']} | {r['iterations']} | {r['searches']} | {r['cpu_seconds']:.0f} s |"
              for r in rows]
    return "\n".join(lines) + "\n"


def main(words):
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--tasks", default="push_far", help="names, separated by commas")
    a.add_argument("--seeds", default="10", help="how many, from 1 on; or which: 1,4,9, and 4, for one")
    a.add_argument("--out", type=pathlib.Path, default=suite.ROOT / "build/suite", help="where tools/suite.py left its runs")
    a.add_argument("--seconds", type=float, default=0, help="no iteration of a plan begins later [s]; 0: no limit")
    a.add_argument("--hard", action="store_true", help="MuJoCo's hardest contacts, in place of the file's")
    options = a.parse_args(words)
    seeds = suite.numbers(options.seeds)
    kept = options.out / ("loop_hard.json" if options.hard else "loop.json")
    rows = [r for r in json.loads(kept.read_text()) if "searches" in r] if kept.exists() else []   # what an earlier form of this program left is done again
    for name in options.tasks.split(","):
        for seed in seeds:
            folder = options.out / name / str(seed)
            if any((r["task"], r["seed"]) == (name, seed) for r in rows):
                continue
            if not (folder / "run/trajectory.npz").exists() or not (folder / "state.json").exists() or "code" not in json.loads((folder / "state.json").read_text()):
                print(f"{name} {seed}: no motion; tools/suite.py finds one", flush=True)
                continue
            rows.append({"task": name, "seed": seed, **follow(folder, name, seed, options)})
            suite.write(kept, json.dumps(rows, indent=1))
            suite.write(kept.with_suffix(".md"), table(rows))
            print(f"{name} {seed}: {100 * rows[-1]['distance']:.2g} cm left, {100 * rows[-1]['open']:.2g} in open loop", flush=True)
    print(table(rows), end="")
    return 0 if rows and all(r["verdict"] == "holds" for r in rows) else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
