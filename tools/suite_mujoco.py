#!/usr/bin/env python3
"""A task of the suite by finite differences in MuJoCo, with contacts that are felt ahead: the baseline `mujoco` of tools/suite.py.

usage: tools/suite_mujoco.py TASK --simulations N --rate R --out FOLDER [--seed S]

Every geom that motors move has a margin of 5 cm, in which its contacts push softly, from nothing at the margin's edge; the box is felt
before it is met. The loss is the task's own, of the states that MuJoCo comes to, its slope forward differences, the optimiser Adam. The
best controls are then held to the task's criterion and replays as ours are. Needs NumPy, MuJoCo and the package tangere.
"""
import argparse
import json
import math
import pathlib
import signal
import sys

import numpy as np

MARGIN, SOLREF, SOLIMP = 0.05, (0.05, 1.0), (0.05, 0.9, 0.05, 0.5, 2.0)   # [m]; [s], damping ratio; impedance at the edge, inside, width [m], midpoint, power
STEP = 0.004          # of MuJoCo, at most [s]: the time constant of its contacts is many steps
WIDTH = 1e-4          # of a forward difference, as a share of a variable's box
BETAS, TINY = (0.9, 0.999), 1e-12


def soften(model):
    """Margins and soft contact on what motors move: on each geom whose body hangs on an actuated joint."""
    import mujoco
    driven = {int(model.jnt_bodyid[model.actuator_trnid[a, 0]]) for a in range(model.nu) if model.actuator_trntype[a] == mujoco.mjtTrn.mjTRN_JOINT}
    for body in range(1, model.nbody):
        if int(model.body_parentid[body]) in driven:
            driven.add(body)                       # parents come first
    for geom in range(model.ngeom):
        if int(model.geom_bodyid[geom]) in driven and (model.geom_contype[geom] or model.geom_conaffinity[geom]):
            model.geom_margin[geom], model.geom_solref[geom], model.geom_solimp[geom], model.geom_priority[geom] = MARGIN, SOLREF, SOLIMP, 1


class Search:
    """Adam in the box of the variables; `best` is the least loss so far, of x."""

    def __init__(self, task):
        import mujoco
        import tangere.mujoco
        self.task, self.simulations = task, 0
        self.model = mujoco.MjModel.from_xml_path(task.model_path)
        soften(self.model)
        self.sub = max(1, math.ceil(task.dt / STEP - 1e-9))
        self.states = tangere.mujoco.states
        self.low, self.high = np.array(task.bounds).T
        self.best = (math.inf, None)

    def loss(self, x):
        """The task's loss of the soft motion; infinite where it is not one."""
        self.simulations += 1
        q, v = self.states(self.task, x, self.model, self.task.dt / self.sub, self.sub)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return math.inf
        value = self.task.judge(x, q, v)["loss"]
        if value < self.best[0]:
            self.best = (value, x.copy())
        return value

    def slope(self, x, at):
        box = np.where(np.isfinite(self.high - self.low), self.high - self.low, 1.0)
        g = np.zeros_like(x)
        for i in range(x.size):
            moved = x.copy()
            moved[i] += WIDTH * box[i] * (1 if x[i] + WIDTH * box[i] <= self.high[i] else -1)
            g[i] = (self.loss(moved) - at) / (moved[i] - x[i])
        return np.where(np.isfinite(g), g, 0.0)

    def run(self, x, simulations, rate):
        """As many simulations at most; an iteration is one and one for each variable."""
        m, s, k = np.zeros_like(x), np.zeros_like(x), 0
        while self.simulations + x.size + 1 <= simulations or k == 0:
            g = self.slope(x, self.loss(x))
            k += 1
            m, s = BETAS[0] * m + (1 - BETAS[0]) * g, BETAS[1] * s + (1 - BETAS[1]) * g * g
            x = np.clip(x - rate * (m / (1 - BETAS[0]**k)) / (np.sqrt(s / (1 - BETAS[1]**k)) + TINY), self.low, self.high)
        return k


def outcome(task, x, search, iterations):
    """As run.json of `tangere optimize` has it, as far as tools/suite.py reads it."""
    row = {k: None for k in ("distance_m", "loss")}
    rows = [{"name": r["name"], "what": r["what"], "verdict": r["verdict"], "required": r["required"], "reason": r["reason"],
             **{k: (r[f] if math.isfinite(r[f]) else None) for k, f in (("distance_m", "distance"), ("loss", "loss"))}} for r in task.verify(x)]
    try:
        _, _, q, v = task.trajectory(x)
        own = task.judge(x, q, v)
        row = {"distance_m": own["distance"], "loss": own["loss"]}
        met = own["verdict"] == "holds"
    except Exception as failed:                    # the motion is none under the task's contact model
        met, row["reason"] = False, str(failed)
    reached = met and all(r["verdict"] == "holds" for r in rows if r["required"])
    return {"command": "baseline", "met": met, "reached": reached, "contact": "mujoco", "simulations": search.simulations, "iterations": iterations,
            "soft_loss": search.best[0], "variables": list(x), **row, "verification": rows}


def main(words):
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("task", type=pathlib.Path)
    a.add_argument("--simulations", type=int, required=True)
    a.add_argument("--rate", type=float, required=True, help="of Adam, as the task's own")
    a.add_argument("--seed", type=int, default=0, help="of the start")
    a.add_argument("--out", type=pathlib.Path, required=True)
    options = a.parse_args(words)
    try:
        import mujoco  # noqa: F401
        import tangere as tg
    except ImportError as missing:
        print(f"suite_mujoco.py: {missing}; run it by a Python that has mujoco and tangere", file=sys.stderr)
        return 2
    task = tg.Task(options.task)
    search, iterations = Search(task), 0
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        iterations = search.run(task.start(options.seed), options.simulations, options.rate)
    except KeyboardInterrupt:
        pass                                       # what there is, is judged
    x = search.best[1] if search.best[1] is not None else task.start(options.seed)
    result = outcome(task, x, search, iterations)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "run.json").write_text(json.dumps(result, indent=1))
    left = "-" if result["distance_m"] is None else f"{result['distance_m']:.3g} m left"
    print(f"soft loss {search.best[0]:.4g} after {search.simulations} simulations; under {task.contact} {left}; {'reached' if result['reached'] else 'not reached'}")
    return 0 if result["reached"] else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
