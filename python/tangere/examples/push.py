"""A rod goes round a box and pushes it home under `barrier`: nothing touches at the start (up to a minute)."""

from __future__ import annotations

import pathlib

import tangere as tg

from . import MODELS, leave


def main(out: pathlib.Path) -> dict[str, float]:
    task = tg.Task(MODELS / "push_demo.yaml")
    last = [-10.0]

    def progress(p: dict[str, float]) -> None:
        if p["seconds"] - last[0] > 2:
            last[0] = p["seconds"]
            print(f"  iteration {p['iteration']:4d}  best {p['best']:.3e}  {p['seconds']:.0f} s, about "
                  f"{max(p['seconds_left'], 0):.0f} s left")

    found = task.optimize(progress=progress)
    print(found)
    leave(out / "push.html", task, found)
    return {"loss": found.loss, "reached": found.reached}
