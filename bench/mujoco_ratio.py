#!/usr/bin/env python3
"""Steps and derivatives of steps against MuJoCo's, same files, same states, one thread.

usage: build/venv/bin/python bench/mujoco_ratio.py [--json]

Step without contact: mj_step with the Euler integrator and constraints (contacts, limits, dry friction) disabled, 200 steps a call so that Python
does not count, against tg_sim_step without a contact model. Both compute kinematics, mass matrix, bias, actuators, springs, one factorisation with the
dampers of joints in it (MuJoCo factors M too when there are any), and integrate; MuJoCo also its sensors, energies off. Least of many repeats.

Derivatives: gymnasium's humanoid standing on its feet. mjd_transitionFD at its defaults' solver and Euler against one step of ours and its exact
Jacobian, from the same state. MuJoCo's contact is soft and ours hard: the same pose and velocities, not the same forces.
"""
import json
import pathlib
import sys
import time

import gymnasium
import mujoco
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import peers  # noqa: E402

ASSETS = pathlib.Path(gymnasium.__file__).parent / "envs/mujoco/assets"
ROBOTS = ("inverted_double_pendulum", "hopper", "half_cheetah", "walker2d", "ant", "humanoid")


def least(function, repeats, count=1):
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / count


def mujoco_step(name):
    model = mujoco.MjModel.from_xml_path(str(ASSETS / f"{name}.xml"))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    rng = np.random.default_rng(3)

    def run():
        mujoco.mj_resetData(model, data)
        data.qvel[:] = rng.uniform(-0.5, 0.5, model.nv)
        mujoco.mj_step(model, data, 200)

    return least(run, 150, 200)


def standing():
    """The humanoid put on its feet, a millimetre deep: model, state with contacts."""
    model = mujoco.MjModel.from_xml_path(str(ASSETS / "humanoid.xml"))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    data = mujoco.MjData(model)
    feet = [g for g in range(model.ngeom) if "foot" in (mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, g) or "")]
    mujoco.mj_forward(model, data)
    lowest = min(data.geom_xpos[g][2] - model.geom_size[g][0] for g in feet)
    data.qpos[2] -= lowest + 1e-3
    data.qvel[:] = 0.01
    mujoco.mj_forward(model, data)
    assert data.ncon > 0
    return model, data


def transition(rows):
    model, data = standing()
    n, state = model.nv, np.concatenate([data.qpos, data.qvel])
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, model.nu))
    path = str(ASSETS / "humanoid.xml")
    times, shape = peers.ours([path], state=state, contact=True, h=model.opt.timestep)
    mine, both = times[f"step_jacobian {path}"], f"{n} dof, contacts {shape[path][1]} ours, {data.ncon} theirs"
    assert shape[path][1] > 0
    for centred in (False, True):
        theirs = least(lambda: mujoco.mjd_transitionFD(model, data, 1e-6, centred, A, B, None, None), 40)
        name = f"humanoid standing ({both}): {'centred' if centred else 'one-sided'}"
        rows.append(peers.row(name, mine, theirs, "<= 1/15" if centred else "<= 1/8", "ours: step and Jacobian"))


def main():
    rows = []
    paths = [str(ASSETS / f"{r}.xml") for r in ROBOTS]
    mine, shape = peers.ours(paths)
    for name, path in zip(ROBOTS, paths):
        rows.append(peers.row(f"mj_step without contact: {name} ({shape[path][0]} dof)", mine[f"step {path}"], mujoco_step(name), "<= 1"))
    transition(rows)
    if "--json" in sys.argv:
        print(json.dumps({"peer": f"mujoco {mujoco.__version__}", "rows": rows}))
    else:
        peers.show(rows)


main()
