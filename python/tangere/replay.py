"""Motions as a page to look at: one file that opens in a browser, by itself.

    roll = sim.rollout(steps=300)
    tangere.replay.write("fall.html", roll)

    task = tg.Task("models/half_cheetah_reach.yaml")
    tangere.replay.write("reach.html", task, task.optimize())

    tangere.replay.write("robot.html", model, q=measured, dt=0.02)      # of another simulator or a robot

The page is the one that the command line writes (docs/replay.md); it is made by the program in the package.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any, overload

import numpy as np

from . import _program
from ._tangere import Model, Optimum, Rollout, Task, drop_words, load


def _source(model: Model, folder: pathlib.Path) -> tuple[str, list[str]]:
    path, text, arguments = model._source
    if path:
        return str(pathlib.Path(path).resolve()), list(arguments)
    file = folder / ("model.urdf" if "<robot" in text else "model.xml")
    file.write_text(text)
    return str(file), list(arguments)


def _make(path: str | pathlib.Path, model: Model, arrays: dict[str, Any], run: dict[str, Any], arguments: list[str] | None = None) -> None:
    with tempfile.TemporaryDirectory(prefix="tangere-replay-") as name:
        folder = pathlib.Path(name)
        file, own = _source(model, folder)
        np.savez(folder / "trajectory.npz", allow_pickle=False, **arrays)
        (folder / "run.json").write_text(json.dumps({"model": {"path": file}} | run))
        _program.call("replay", folder, "--out", path, *own, *(arguments or []))


def _task_ground(task: Task, model: Model) -> list[str]:
    """A task adds its ground to what is in the file; so must who draws it."""
    if "ground" not in model.names("geom") or "ground" in load(task.model_path, lenient=True, drop=list(drop_words())).names("geom"):
        return []
    return [f"--ground={model.field('geom_pos')[model.find('geom', 'ground'), 2]:.17g}"]


def _states(model: Model, q: Any, v: Any, u: Any, label: str = "") -> dict[str, Any]:
    """Arrays of a motion by the names that a file has them under: rows of v are velocities, then activations."""
    arrays = {"qpos": q, "qvel": v[:, :model.nv], "ctrl": u} | ({"act": v[:, model.nv:]} if model.na else {})
    return {name + label: np.ascontiguousarray(x) for name, x in arrays.items()}


def _rollout(path: str | pathlib.Path, roll: Rollout) -> None:
    n = roll.steps
    if n == len(roll.u):   # with its own parameters and forces
        roll.write_replay(str(path), pathlib.Path(path).stem, _program.environ().get("TANGERE_VIEWER", ""))
        return
    arrays = _states(roll.model, roll.q[:n + 1], roll.v[:n + 1], roll.u[:n])
    _make(path, roll.model, arrays | {"timestep": np.float64(roll.dt)}, {})


def _decided(task: Task, found: Optimum) -> list[dict[str, Any]]:
    """The model's parameters that the first and the best iterate have otherwise than the file, as run.json keeps them."""
    first, best = task.sim(found.first), task.sim(found.x)
    decided: list[dict[str, Any]] = []
    for name in first.param_names:
        if name.startswith("contact."):   # moves no pose
            continue
        plain, one, two = np.ravel(first.model.field(name)), np.ravel(first.param(name)), np.ravel(best.param(name))
        decided += [{"array": name, "entry": int(i), "first": float(one[i]), "best": float(two[i])}
                    for i in np.flatnonzero((plain != one) | (plain != two))]
    return decided


def _optimum(path: str | pathlib.Path, task: Task, found: Optimum) -> None:
    model = task.sim().model
    arrays: dict[str, Any] = {"timestep": np.float64(task.dt), "loss": found.curve, "loss_stage": found.curve_stage,
                              "loss_iteration": np.arange(len(found.curve), dtype=float)}
    ended = [row for row in found.verification if row["verdict"] in ("holds", "misses")] if found.stage == 0 else []
    for row in ended:   # the best under the conditions that it was held to
        q, v = task.verify_motion(found.x, row["name"])
        arrays |= _states(model, q, v, task.expand(found.x)[2], f"_{row['name']}")
    for name, x in (("first", found.first), ("best", found.x)):
        _, _, q, v = task.trajectory(x)
        arrays |= _states(model, q, v, task.expand(x)[2], f"_{name}")
    run = {"first_loss": found.first_loss, "best_loss": found.loss, "simulations": found.simulations, "stage": found.stage,
           "model_parameters": _decided(task, found), "verification": [{"name": row["name"]} for row in ended]}
    _make(path, model, arrays, run, _task_ground(task, model))


def _elsewhere(path: str | pathlib.Path, model: Model, q: Any, dt: float, u: Any) -> None:
    q = np.asarray(q, dtype=float)
    if q.ndim != 2 or q.shape[1] != model.nq or len(q) < 2:
        raise ValueError(f"q: two or more states of {model.nq} numbers are needed, not an array of shape {q.shape}")
    if not dt > 0:
        raise ValueError(f"dt: {dt} s between states")
    u = np.zeros((len(q) - 1, model.nu)) if u is None else np.asarray(u, dtype=float)
    if u.shape != (len(q) - 1, model.nu):
        raise ValueError(f"u: controls of shape {(len(q) - 1, model.nu)} are needed, not {u.shape}")
    arrays = _states(model, q, np.zeros((len(q), model.nv + model.na)), u)
    _make(path, model, arrays | {"timestep": np.float64(dt)}, {})


@overload
def write(path: str | pathlib.Path, motion: Rollout) -> None: ...
@overload
def write(path: str | pathlib.Path, motion: Task, found: Optimum) -> None: ...
@overload
def write(path: str | pathlib.Path, motion: Model, *, q: Any, dt: float, u: Any = None) -> None: ...
def write(path: str | pathlib.Path, motion: Rollout | Task | Model, found: Optimum | None = None, *, q: Any = None, dt: float = 0.0,
          u: Any = None) -> None:
    """Writes a page of a Rollout (of one that Ctrl-C ended too: the steps that it had), of a Task and the Optimum
    that it found: first against best, with the loss curve; or of a Model and states from elsewhere, another simulator or a
    robot: q (steps + 1, nq), `dt` seconds apart, with the controls u (steps, nu) if there are some. Raises tangere.Error
    when the page cannot be made."""
    if isinstance(motion, Rollout):
        _rollout(path, motion)
    elif isinstance(motion, Model):
        _elsewhere(path, motion, q, dt, u)
    elif not isinstance(motion, Task):
        raise TypeError(f"motion: a Rollout, a Task or a Model is needed, not {type(motion).__name__}; the path of the page comes first")
    elif found is None:
        raise TypeError("found: the Optimum of the task is needed")
    else:
        _optimum(path, motion, found)
