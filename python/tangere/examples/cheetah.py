"""A half-cheetah throws its head to a point, found by gradient through its contacts with the ground."""

from __future__ import annotations

import pathlib

import tangere as tg

from . import MODELS, leave


def main(out: pathlib.Path) -> dict[str, float]:
    task = tg.Task(MODELS / "half_cheetah_reach.yaml")
    found = task.optimize(progress=lambda p: print(f"  {p['iteration']:4d}  loss {p['best']:.3e}") if p["iteration"] % 10 == 0 else None)
    print(found)
    leave(out / "cheetah.html", task, found)
    return {"loss": found.loss, "reached": found.reached}
