"""Does a motion hold in MuJoCo? A motion that a task found, replayed there, its controls held in time as they were found.

    found = task.optimize()
    print(tangere.mujoco.verify(task, found.x))

    python -m tangere.mujoco FOLDER            # of a run that `tangere optimize TASK --out FOLDER` left
    python -m tangere.mujoco FOLDER --page     # and its page with MuJoCo's motion among those that it shows

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

from . import _program
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


def _harden(model: Any) -> None:
    """MuJoCo's contacts as hard as it has them: friction that does not creep, in a true cone, and overlap undone within 2 ms."""
    import mujoco
    model.opt.cone, model.opt.impratio, model.opt.noslip_iterations = mujoco.mjtCone.mjCONE_ELLIPTIC, 100, 20
    model.geom_solref[:] = 0.002, 1


def verify(task: Task, x: Any, *, dt: float = 1e-3, hard: bool = False) -> dict[str, Any]:
    """The motion of x in MuJoCo, in steps of at most `dt` [s]: a row as of Task.verify, named 'mujoco', which the task does not require.
    hard: its contacts as hard as it has them, in steps of at most 0.5 ms, in place of the file's (its friction creeps under load): impratio
    100, an elliptic cone, 20 iterations without slip, solref 2 ms; what misses by default and holds so hangs on soft contact.
    verdict 'not expressed' with a reason: MuJoCo is not installed, or cannot read the model, or has another one."""
    x = np.ascontiguousarray(x, dtype=float)
    try:
        import mujoco
    except ImportError:
        return _row("not expressed", math.nan, reason="MuJoCo is not installed: pip install mujoco")
    sub = max(1, math.ceil(task.dt / (min(dt, 5e-4) if hard else dt) - 1e-9))
    h = task.dt / sub
    what = f"MuJoCo {mujoco.__version__}, {'hard, ' if hard else ''}steps of {1000 * h:.3g} ms"
    try:
        model = mujoco.MjModel.from_xml_path(task.model_path)
    except ValueError as refused:
        return _row("not expressed", h, what, f"MuJoCo cannot read the model: {str(refused).splitlines()[0]}")
    reason = _not_the_same(task, model, x)
    if reason:
        return _row("not expressed", h, what, reason)
    if hard:
        _harden(model)
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
    return _roll(model, *task.expand(x), h, sub)


def _roll(model: Any, q0: np.ndarray, v0: np.ndarray, u: np.ndarray, h: float, sub: int) -> tuple[np.ndarray, np.ndarray]:
    import mujoco
    data = mujoco.MjData(model)
    model.opt.timestep = h
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET   # which puts a motion that blew up back to its start
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


def verify_run(folder: str | os.PathLike[str], *, hard: bool = False) -> dict[str, Any]:
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
    return verify(task, x, hard=hard)


def add_to_page(folder: str | os.PathLike[str], row: dict[str, Any]) -> None:
    """Puts MuJoCo's motion of the best into a run's folder, at the times of the motion that it shows, and makes replay.html anew with it:
    one more to choose there, 'mujoco'. row: of `verify_run`. tangere.Error where there is no motion to show."""
    if row["verdict"] not in ("holds", "misses"):
        raise Error(f"there is no motion of MuJoCo to show: {row['verdict']}{': ' if row['reason'] else ''}{row['reason']}")
    import mujoco
    folder = pathlib.Path(folder)
    run = json.loads((folder / "run.json").read_text())
    model = mujoco.MjModel.from_xml_path(run["model"]["path"])
    with np.load(folder / "trajectory.npz", allow_pickle=False) as kept:
        arrays = dict(kept)
    dt = float(arrays["timestep"])
    sub = max(1, math.ceil(dt / row["dt"] - 1e-9))
    v0 = np.append(arrays["qvel_best"][0], arrays["act_best"][0] if model.na else [])
    q, v = _roll(model, arrays["qpos_best"][0], v0, arrays["ctrl_best"], dt / sub, sub)
    arrays |= {"qpos_mujoco": q, "qvel_mujoco": v[:, :model.nv], "ctrl_mujoco": arrays["ctrl_best"]}
    if model.na:
        arrays["act_mujoco"] = v[:, model.nv:]
    run["verification"] = [r for r in run.get("verification", []) if r["name"] != "mujoco"]
    kept_row = {k: row[k] for k in ("name", "what", "verdict", "required", "loss")} | {"timestep": dt / sub}
    run["verification"].append(kept_row | ({"distance_m": row["distance"]} if math.isfinite(row["distance"]) else {}))
    part = folder / "trajectory.part.npz"
    np.savez(part, **arrays)   # of numbers, as they were read
    os.replace(part, folder / "trajectory.npz")
    part = folder / "run.json.part"
    part.write_text(json.dumps(run, indent=1))
    os.replace(part, folder / "run.json")
    _program.call("replay", folder)


def main(arguments: list[str] | None = None) -> int:
    """The command line: prints the row; 0: it holds, 3: it does not, 2: the folder is none."""
    parser = argparse.ArgumentParser(prog="python -m tangere.mujoco", description="Replays a motion found in MuJoCo.")
    parser.add_argument("folder", type=pathlib.Path, help="of a run that `tangere optimize TASK --out FOLDER` left")
    parser.add_argument("--page", action="store_true", help="add MuJoCo's motion to the folder and its replay.html")
    parser.add_argument("--hard", action="store_true", help="MuJoCo's contacts as hard as it has them, in place of the file's")
    options = parser.parse_args(arguments)
    if options.page and options.hard:
        parser.error("--page is of MuJoCo's contacts as the file has them")
    try:
        row = verify_run(options.folder, hard=options.hard)
        if options.page and row["verdict"] in ("holds", "misses"):
            add_to_page(options.folder, row)
    except (OSError, KeyError, ValueError, Error) as wrong:
        print(f"python -m tangere.mujoco: {wrong}", file=sys.stderr)
        return 2
    left = ""
    if math.isfinite(row["distance"]):
        left = f"{row['distance']:.3g} m left"
    elif math.isfinite(row["loss"]):
        left = f"loss {row['loss']:.4g}"
    print(f"mujoco    {row['what']:40} {left:14} {row['verdict']}{': ' if row['reason'] else ''}{row['reason']}")
    return 0 if row["verdict"] == "holds" else 3


if __name__ == "__main__":
    sys.exit(main())
