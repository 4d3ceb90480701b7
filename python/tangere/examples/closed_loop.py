"""A box is pushed to a mark in a MuJoCo whose box and floor are not those of the plan: planned once, and in a closed loop."""

from __future__ import annotations

import pathlib

import mujoco
import numpy as np

import tangere as tg

from . import MODELS, leave

MARK, SECONDS, WORLDS = 0.6, 5.0, 4


def world(path: str, seed: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """MuJoCo's own step of 1 ms; friction from 0.3 to 0.7 (0.5 in the file), mass from 0.7 to 1.4 of the file's, the plate and the box
    turned elsewhere."""
    draw = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_path(path)
    model.opt.timestep = 1e-3
    model.geom_friction[:, 0] = draw.uniform(0.3, 0.7)
    box, factor = model.body("box").id, draw.uniform(0.7, 1.4)
    model.body_mass[box] *= factor
    model.body_inertia[box] *= factor
    data = mujoco.MjData(model)
    turn = draw.uniform(-0.1, 0.1)
    data.joint("plate").qpos[:] = draw.uniform(-0.3, 0.05)
    data.qpos[4:8] = np.cos(turn / 2), 0, 0, np.sin(turn / 2)
    mujoco.mj_forward(model, data)
    return model, data


def main(out: pathlib.Path) -> dict[str, float]:
    task = tg.Task(MODELS / "push_to_mark.yaml")
    found = task.optimize(verify=False)
    plan = task.expand(found.x)[2]
    print(f"  planned once: {1000 * task_left(task, found.x):.1f} mm left where the world is the plan's")
    print(f"  {'friction':>8} {'mass':>6} {'once':>8} {'closed loop':>12}   left [m], in MuJoCo")
    left = np.zeros((WORLDS, 2))
    for seed in range(WORLDS):
        for closed in (0, 1):
            model, data = world(task.model_path, seed)
            controller, states = tg.Controller(task), []
            for k in range(round(SECONDS / model.opt.timestep)):
                if k % 20 == 0:
                    states.append(data.qpos.copy())
                if closed:
                    data.ctrl[:] = controller(data.time, data.qpos, data.qvel)
                else:
                    data.ctrl[:] = plan[min(int(data.time / task.dt + 1e-9), len(plan) - 1)]
                mujoco.mj_step(model, data)
            left[seed, closed] = abs(data.body("box").xpos[0] - MARK)
        print(f"  {model.geom_friction[0, 0]:8.2f} {model.body_mass[model.body('box').id]:6.2f} {left[seed, 0]:8.3f} {left[seed, 1]:12.3f}")
    leave(out / "closed_loop.html", tg.load(task.model_path), q=states, dt=20 * model.opt.timestep)
    return {"once": float(left[:, 0].max()), "closed": float(left[:, 1].max())}


def task_left(task: tg.Task, x: np.ndarray) -> float:
    """Distance of the box from the mark at the end of the plan's own motion."""
    _, _, q, _ = task.trajectory(x)
    return abs(float(q[-1, 1]) - MARK)
