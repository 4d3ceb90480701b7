"""One task under every contact model, as a table."""

from __future__ import annotations

import pathlib
import time

import tangere as tg

from . import MODELS, leave


def main(out: pathlib.Path) -> dict[str, float]:
    figures = {}
    print(f"  {'contact':10} {'loss before':>12} {'loss after':>12} {'s':>6}  gradient")
    for word in tg.contact_models():
        began = time.perf_counter()
        try:
            task = tg.Task(MODELS / "half_cheetah_reach.yaml", contact=word, iterations=3)
            found = task.optimize(verify=False)   # three iterations are no motion to be held to shorter steps
        except tg.Error as refused:
            print(f"  {word:10} refused: {str(refused).splitlines()[0][:110]}")
            continue
        figures[word] = found.loss
        print(f"  {word:10} {found.first_loss:12.4e} {found.loss:12.4e} {time.perf_counter() - began:6.1f}  {found.label}")
        leave(out / "table" / f"{word}.html", task, found)
    return figures
