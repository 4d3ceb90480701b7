#!/usr/bin/env python3
"""How far apart the same controls leave a body: motions of the suite in MuJoCo by its two cones and in its hardest contact, and here.

usage: tools/suite_apart.py [--task push_far] [--body box] [--seeds 10] [--out build/suite]

Of runs that tools/suite.py left under --out. Each motion is run in open loop in MuJoCo as its file is (in steps of 1 ms and of 0.25 ms), with
a pyramid of friction, with an elliptic cone and impratio 10, in its hardest contact, here under `lcp` in steps of 1 ms, along two axes and
in a cone, and under `barrier` in steps of 5 ms. A table of what is left in each, and of the distances between where the body ends. Needs NumPy,
MuJoCo and the package tangere.
"""
import argparse
import pathlib
import statistics
import sys

import numpy as np
import suite

PAIRS = [("mujoco", "mujoco 0.25 ms"), ("mujoco", "pyramid"), ("mujoco", "elliptic"), ("mujoco", "hard"), ("lcp", "lcp cone"), ("lcp", "mujoco"), ("lcp cone", "mujoco"), ("lcp cone", "hard"),
         ("barrier", "hard")]


def there(task, x, step, cone=None, hard=False):
    """The states in MuJoCo."""
    import mujoco
    import tangere.mujoco
    model = mujoco.MjModel.from_xml_path(task.model_path)
    if cone == "pyramid":
        model.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    if cone == "elliptic":
        model.opt.cone, model.opt.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10
    if hard:
        tangere.mujoco._harden(model)
    sub = max(1, round(task.dt / step))
    return tangere.mujoco.states(task, x, model, task.dt / sub, sub)


def here(task, x, contact, step, **options):
    """The states under a contact model with these options."""
    import tangere as tg
    sub = max(1, round(task.dt / step))
    sim = tg.Sim(tg.load(task.model_path), contact=contact, dt=task.dt / sub, **options)
    sim.qpos[:], sim.qvel[:], controls = task.expand(x)
    q, v = [sim.qpos.copy()], [sim.qvel.copy()]
    for u in controls:
        sim.ctrl[:] = u
        for _ in range(sub):
            sim.step()
        q.append(sim.qpos.copy())
        v.append(sim.qvel.copy())
    return np.array(q), np.array(v)


def motions(task, x):
    return {"mujoco": there(task, x, 1e-3), "mujoco 0.25 ms": there(task, x, 2.5e-4), "pyramid": there(task, x, 1e-3, cone="pyramid"), "elliptic": there(task, x, 1e-3, cone="elliptic"),
            "hard": there(task, x, 5e-4, hard=True), "lcp": here(task, x, "lcp", 1e-3),
            "lcp cone": here(task, x, "lcp", 1e-3, friction_cone="elliptic"), "barrier": here(task, x, "barrier", 5e-3)}


def place(model, q, body):
    """Where a body's origin is in the last state [m]."""
    import mujoco
    data = mujoco.MjData(model)
    data.qpos[:] = q[-1]
    mujoco.mj_kinematics(model, data)
    return data.body(body).xpos.copy()


def main(words):
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--task", default="push_far")
    a.add_argument("--body", default="box")
    a.add_argument("--seeds", default="10", help="how many, from 1 on; or which: 1,4,9, and 4, for one")
    a.add_argument("--out", type=pathlib.Path, default=suite.ROOT / "build/suite", help="where tools/suite.py left its runs")
    options = a.parse_args(words)
    import mujoco
    import tangere as tg
    left, apart = {}, {pair: [] for pair in PAIRS}
    for seed in suite.numbers(options.seeds):
        folder = options.out / options.task / str(seed)
        task = tg.Task(folder / "task.yaml")
        with np.load(folder / "run/trajectory.npz", allow_pickle=False) as kept:
            x = kept["variables"]
        all_of = motions(task, x)
        model = mujoco.MjModel.from_xml_path(task.model_path)
        for name, (q, v) in all_of.items():
            left.setdefault(name, []).append(task.judge(x, q, v)["distance"])
        for one, other in PAIRS:
            apart[one, other].append(float(np.linalg.norm(place(model, all_of[one][0], options.body) - place(model, all_of[other][0], options.body))))
        print(f"{options.task} {seed}: left " + ", ".join(f"{n} {100 * d[-1]:.2g} cm" for n, d in left.items()), flush=True)
    for name, each in left.items():
        print(f"{name:16} leaves {100 * min(each):.2g} to {100 * max(each):.3g} cm, median {100 * statistics.median(each):.2g}, within 10 cm {sum(d <= 0.1 for d in each)} of {len(each)}")
    for (one, other), each in apart.items():
        print(f"{one:8} and {other:16} end {100 * min(each):.2g} to {100 * max(each):.3g} cm apart, median {100 * statistics.median(each):.2g}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
