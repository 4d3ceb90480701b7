"""Does a motion hold in MuJoCo? A motion that a task found, replayed there, its controls held in time as they were found.

    found = task.optimize()
    print(tangere.mujoco.verify(task, found.x))

    python -m tangere.mujoco FOLDER            # of a run that `tangere optimize TASK --out FOLDER` left

MuJoCo reads the model's file by itself and moves it by its own solver. Its contacts are soft and its friction is a cone: a motion that
holds there and here holds in two worlds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import sys
from typing import Any

import numpy as np

from ._errors import Error
from ._tangere import Task


def _row(verdict: str, dt: float, what: str = "", reason: str = "", loss: float = math.nan, distance: float = math.nan) -> dict[str, Any]:
    return {"name": "mujoco", "what": what, "verdict": verdict, "required": False, "dt": dt, "loss": loss, "distance": distance,
            "reason": reason}


def _not_the_same(task: Task, model: Any, x: np.ndarray) -> str:
    """Why MuJoCo's model cannot stand for the task's; '' where it can."""
    ours = task.sim(x)
    # MuJoCo takes steps of its own, whatever those of the task
    changed = sorted({name for name in ours.param_names if not name.startswith("contact.") and name != "opt_timestep" and
                      not np.array_equal(np.ravel(ours.model.field(name)), np.ravel(ours.param(name)))})
    if changed:
        return f"the task decides {', '.join(changed)} of the model, whose file MuJoCo reads"
    for what, here, there in (("nq", ours.model.nq, model.nq), ("nv", ours.model.nv, model.nv), ("nu", ours.model.nu, model.nu),
                              ("na", ours.model.na, model.na)):
        if here != there:
            return f"{what} is {here} here and {there} in MuJoCo"
    if np.any(ours.model.field("geom_restitution")):
        return "the task has restitution, which MuJoCo has not"
    if len(ours.model.names("geom")) > model.ngeom:
        return "the task adds geoms, as a ground, to what is in the file"
    return ""


def verify(task: Task, x: Any, *, dt: float = 1e-3) -> dict[str, Any]:
    """The motion of x in MuJoCo, in steps of at most `dt` [s]: a row as of Task.verify, named 'mujoco', which the task does not require.
    verdict 'not expressed' with a reason: MuJoCo is not installed, or cannot read the model, or has another one."""
    x = np.ascontiguousarray(x, dtype=float)
    try:
        import mujoco
    except ImportError:
        return _row("not expressed", math.nan, reason="MuJoCo is not installed: pip install mujoco")
    sub = max(1, math.ceil(task.dt / dt - 1e-9))
    h = task.dt / sub
    what = f"MuJoCo {mujoco.__version__}, steps of {1000 * h:.3g} ms"
    try:
        model = mujoco.MjModel.from_xml_path(task.model_path)
    except ValueError as refused:
        return _row("not expressed", h, what, f"MuJoCo cannot read the model: {str(refused).splitlines()[0]}")
    reason = _not_the_same(task, model, x)
    if reason:
        return _row("not expressed", h, what, reason)
    q, v = states(task, x, model, h, sub)
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        return _row("ends early", h, what, "the state is not finite")
    try:
        judged = task.judge(x, q, v)
    except Error as refused:
        return _row("ends early", h, what, str(refused))
    return _row(judged["verdict"], h, what, "", judged["loss"], judged["distance"])


def states(task: Task, x: np.ndarray, model: Any, h: float, sub: int) -> tuple[np.ndarray, np.ndarray]:
    """q (steps + 1, nq) and v (steps + 1, nv + na) at the task's times, of MuJoCo's model in steps of h [s], `sub` for one."""
    import mujoco
    data = mujoco.MjData(model)
    model.opt.timestep = h
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET   # which puts a motion that blew up back to its start
    q0, v0, u = task.expand(x)
    data.qpos[:], data.qvel[:], data.act[:] = q0, v0[:model.nv], v0[model.nv:]
    q, v = [data.qpos.copy()], [np.append(data.qvel, data.act)]
    for control in u:
        data.ctrl[:] = control
        for _ in range(sub):
            mujoco.mj_step(model, data)
        q.append(data.qpos.copy())
        v.append(np.append(data.qvel, data.act))
    return np.array(q), np.array(v)


def _fingerprint(file: pathlib.Path) -> str:
    """FNV-1a of 64 bits, as run.json has it."""
    h = 0xcbf29ce484222325
    for byte in file.read_bytes():
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return f"{h:016x}"


def verify_run(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The row, as of `verify`, of a folder that `tangere optimize --out FOLDER` left, its loss by the terms of the task's first stage;
    tangere.Error where the task is not what it was, or the folder is of something else."""
    folder = pathlib.Path(folder)
    file = folder / "run.json"
    run = json.loads(file.read_text())
    if run.get("command") != "optimize":
        raise Error(f"{file}: not of an optimisation: give the folder that `tangere optimize --out` left")
    task = Task(run["task"]["path"])
    for what, path in (("task", run["task"]["path"]), ("model", task.model_path)):
        if _fingerprint(pathlib.Path(path)) != run[what]["fnv1a64"]:
            raise Error(f"{path} has changed since the run of {folder}; optimise again")
    with np.load(folder / "trajectory.npz", allow_pickle=False) as kept:
        x = kept["variables"]
    if x.shape != (task.size,):
        raise Error(f"{folder}: {x.size} variables, and the task has {task.size}: it is another one now")
    return verify(task, x)


def main(arguments: list[str] | None = None) -> int:
    """The command line: prints the row; 0: it holds, 3: it does not, 2: the folder is none."""
    parser = argparse.ArgumentParser(prog="python -m tangere.mujoco", description="Replays a motion found in MuJoCo.")
    parser.add_argument("folder", type=pathlib.Path, help="of a run that `tangere optimize TASK --out FOLDER` left")
    try:
        row = verify_run(parser.parse_args(arguments).folder)
    except (OSError, KeyError, ValueError, Error) as wrong:
        print(f"python -m tangere.mujoco: {wrong}", file=sys.stderr)
        return 2
    left = ""
    if math.isfinite(row["distance"]):
        left = f"{row['distance']:.3g} m left"
    elif math.isfinite(row["loss"]):
        left = f"loss {row['loss']:.4g}"
    print(f"mujoco    {row['what']:38} {left:14} {row['verdict']}{': ' if row['reason'] else ''}{row['reason']}")
    return 0 if row["verdict"] == "holds" else 3


if __name__ == "__main__":
    sys.exit(main())
