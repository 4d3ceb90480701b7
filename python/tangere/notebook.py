"""A replay beside the code: in a notebook, or as a page of its own.

    import tangere as tg
    tg.Replay(sim.rollout(u))        # the last line of a cell: the page appears below it
    tg.Replay(task, task.optimize()) # a Task and what was found: first against best
    tg.Replay("out/push")            # a folder that `tangere optimize` or `simulate` wrote
    tg.Replay(rollout).save("run.html")

The page is the same as the command line's: 3D view, contact forces, signals over time. It fetches nothing and needs no
extension of the notebook.
"""

from __future__ import annotations

import html
import os
import pathlib
import shutil
import tempfile

from . import replay
from ._tangere import Optimum, Rollout, Task

__all__ = ["Replay"]


def _viewer() -> str:
    """The page's template, or FileNotFoundError that says where it was looked for."""
    exe = shutil.which("tangere")
    places = [os.environ.get("TANGERE_VIEWER"), pathlib.Path(__file__).with_name("share") / "tangere/viewer.html",
              pathlib.Path(exe).resolve().parent.parent / "share/tangere/viewer.html" if exe else None,
              pathlib.Path(__file__).resolve().parents[2] / "build/share/tangere/viewer.html"]
    for place in places:
        if place and pathlib.Path(place).is_file():
            return str(place)
    raise FileNotFoundError("the replay's viewer.html is not found: it is built by `make build` in the sources of "
                            "tangere; name it by the environment variable TANGERE_VIEWER")


class Replay:
    """A page that shows a rollout, a task's optimum, or the folder or page that a run left.

    what: a Rollout, a Task, or the path of a folder with replay.html, or of a page. found: of a Task, the Optimum.
    title: of a rollout's page. height: in a notebook, pixels. FileNotFoundError when there is no such page, or no
    viewer to show a rollout with; TypeError for anything else.
    """

    def __init__(self, what: Rollout | Task | str | os.PathLike[str], found: Optimum | None = None, *,
                 title: str = "rollout", height: int = 560) -> None:
        self.height = int(height)
        if isinstance(what, (Rollout, Task)):
            with tempfile.TemporaryDirectory(prefix="tangere-") as folder:
                path = os.path.join(folder, "replay.html")
                if isinstance(what, Task):
                    if found is None:
                        raise TypeError("found: the Optimum of the task is needed")
                    replay.write(path, what, found)
                elif what.steps < len(what.u):   # Ctrl-C ended it
                    replay.write(path, what)
                else:
                    what.write_replay(path, title, _viewer())
                self.html = pathlib.Path(path).read_text(encoding="utf-8")
        elif isinstance(what, (str, os.PathLike)):
            path = pathlib.Path(what)
            self.html = (path / "replay.html" if path.is_dir() else path).read_text(encoding="utf-8")
            if 'id="tangere-replay"' not in self.html:
                raise ValueError(f"{path} is no replay of tangere")
        else:
            raise TypeError(f"a Rollout, a Task or a path is needed, not {type(what).__name__}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page, one file that opens by double click."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # a document of its own: the notebook's styles and scripts do not reach it, nor it them
        return (f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" style="width: '
                f'100%; height: {self.height}px; border: 1px solid #8884" '
                'title="Tangere replay"></iframe>')

    def __repr__(self) -> str:
        return f"<tangere.Replay, {len(self.html) / 1e6:.1f} MB; save(path) writes the page>"
