"""Pictures of what gradients are of: landscapes, force profiles, convergence. They need matplotlib.

    import tangere.plot
    tangere.plot.landscape(tg.Task("models/two_balls.yaml"), along=[0, 1]).save("landscape.svg")
    tangere.plot.force_profile("models/two_spheres.xml", "y", (-0.2, 0.2)).save("force.png")
    tangere.plot.convergence({"adam": "out/adam", "ilqr": "out/ilqr"}).save("convergence.html")

Each returns a Plot: the numbers (data), the matplotlib figure (figure) and save, which writes a picture (.png, .svg) or
a page that opens by double click (.html). What Ctrl-C left of the last call is in tangere.plot.interrupted: a Plot with
NaN where it did not come to, None when that is all of it. The same
from the command line: python -m tangere.plot landscape TASK, force MODEL JOINT LOW HIGH, convergence FOLDER ...
"""

from __future__ import annotations

import argparse
import csv
import functools
import html
import io
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ._errors import Error
from ._tangere import Optimum, Sim, Task, contact_models, load

COLOURS = {"lcp": "#0b5fa5", "barrier": "#c8502d", "sdrs": "#c79a2b", "ipc": "#8c564b", "softmin": "#2a8f5d", "damped": "#7a5195"}
OTHERS = ["#0b5fa5", "#c8502d", "#2a8f5d", "#7a5195", "#c79a2b", "#5b6b7a"]
STYLE = {"font.family": "sans-serif", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
         "axes.edgecolor": "#8a949e", "axes.labelcolor": "#39424b", "xtick.color": "#5b6b7a", "ytick.color": "#5b6b7a",
         "axes.grid": True, "grid.color": "#e6eaee", "grid.linewidth": 0.8, "axes.axisbelow": True,
         "axes.titlesize": 10, "axes.titlelocation": "left", "legend.frameon": False, "lines.linewidth": 1.6,
         "svg.hashsalt": "tangere", "figure.facecolor": "white"}


interrupted: Plot | None = None   # what Ctrl-C left of the last call

Draw = TypeVar("Draw", bound=Callable[..., Any])


def _matplotlib() -> Any:
    try:
        import matplotlib.figure
    except ImportError as e:
        raise ImportError("tangere.plot draws with matplotlib, which is not installed: pip install matplotlib") from e
    return matplotlib


def _styled(draw: Draw) -> Draw:
    """Draws with the style of the site, whatever the program's own is."""
    @functools.wraps(draw)
    def styled(*args: Any, **options: Any) -> Any:
        global interrupted
        interrupted = None
        with _matplotlib().rc_context(STYLE):
            return draw(*args, **options)
    return styled   # type: ignore[return-value]


class Plot:
    """A picture with its numbers: figure (matplotlib's), title and data (arrays by name)."""

    def __init__(self, figure: Any, title: str, data: dict[str, Any]) -> None:
        self.figure, self.title, self.data = figure, title, data

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Writes a .png or .svg picture, or an .html page with the picture and its numbers. Same data, same bytes of an
        .svg. Returns the path."""
        path = pathlib.Path(path)
        kind = path.suffix.lower()
        with _matplotlib().rc_context(STYLE):
            if kind == ".png":
                self.figure.savefig(path, dpi=150)
            elif kind == ".svg":
                self.figure.savefig(path, metadata={"Date": None})
            elif kind == ".html":
                path.write_text(self._page(), encoding="utf-8")
            else:
                raise ValueError(f"path: '{path}' ends in none of .png, .svg, .html")
        return path

    def _page(self) -> str:
        picture = io.StringIO()
        self.figure.savefig(picture, format="svg", metadata={"Date": None})
        svg = picture.getvalue()
        rows = "".join(f"<details><summary>{html.escape(name)} {values.shape}</summary>"
                       f"<pre>{html.escape(_table(values))}</pre></details>" for name, values in self.data.items())
        return (f"<!doctype html><meta charset=utf-8><title>{html.escape(self.title)}</title>"
                "<style>body{font:15px sans-serif;max-width:60rem;margin:2rem auto;color:#39424b}"
                "svg{max-width:100%;height:auto}pre{font-size:12px;overflow:auto}</style>"
                f"<h1>{html.escape(self.title)}</h1>{svg[svg.index('<svg'):]}{rows}")

    def _repr_png_(self) -> bytes:
        """The picture, for notebooks."""
        data = io.BytesIO()
        self.figure.savefig(data, format="png", dpi=110)
        return data.getvalue()


def _table(values: Any) -> str:
    return "\n".join(" ".join(f"{x:.12g}" for x in row) for row in np.atleast_2d(values))


def _figure(columns, rows, width, height):
    figure = _matplotlib().figure.Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _directions(along, n, names):
    """Unit directions of decision variables, and what to call them."""
    made = []
    for k, a in enumerate(along):
        d = np.zeros(n)
        if np.ndim(a) == 0:
            if not -n <= int(a) < n:
                raise ValueError(f"along: variable {a} of {n}")
            d[int(a)] = 1.0
            label = f"variable {int(a)}"
        else:
            d = np.asarray(a, float)
            if d.shape != (n,) or not np.linalg.norm(d) > 0:
                raise ValueError(f"along: a direction needs {n} numbers, not all 0")
            d, label = d / np.linalg.norm(d), f"direction {k}"
        made.append((d, names[k] if names else label))
    return made


def _value(fun, x):
    """Loss and gradient; NaN where the motion fails."""
    try:
        return fun(x)
    except Error:
        return np.nan, np.full(x.size, np.nan)


def _sample(fun, points, ways, steps):
    """Loss, slope along each of ways by the gradient and by differences of losses at each point, NaN from where Ctrl-C
    ended it; its exception, or None."""
    loss = np.full(len(points), np.nan)
    slope, difference = (np.full((len(ways), len(points)), np.nan) for _ in range(2))
    try:
        for i, x in enumerate(points):
            value, gradient = _value(fun, x)
            sides = [(_value(fun, x + h * d)[0] - _value(fun, x - h * d)[0]) / (2 * h) for d, h in zip(ways, steps)]
            loss[i], slope[:, i], difference[:, i] = value, [gradient @ d for d in ways], sides
    except KeyboardInterrupt as stop:
        if not np.isfinite(loss).any():
            raise   # there is nothing to draw
        return loss, slope, difference, stop
    return loss, slope, difference, None


def _ended(plot, stop):
    """The plot; of a call that Ctrl-C ended it is kept, and the exception goes on."""
    global interrupted
    if stop is None:
        return plot
    interrupted = plot
    raise stop


class _Points:
    """at + sum of coordinates times directions, each made when it is asked for."""

    def __init__(self, at, ways, mesh):
        self.at, self.ways, self.coordinates = at, ways, [m.ravel() for m in mesh]

    def __len__(self):
        return self.coordinates[0].size

    def __iter__(self):
        return (self.at + sum(g * d for g, d in zip(c, self.ways)) for c in zip(*self.coordinates))


@_styled
def landscape(fun: Task | Callable[[Any], tuple[float, Any]], at: Any = None, along: Sequence[Any] = (0,),
              span: Any = None, n: int | None = None, *, names: Sequence[str] | None = None,
              title: str | None = None, step: float = 1e-6) -> Plot:
    """
    Cost and gradient over one or two variables, and the gradient beside the slope that differences give.

    fun: a Task, or a function of x that returns (loss, gradient). at: the point that the slices go through, a Task's
    start when None. along: one or two of: index of a variable, or a direction. span: (low, high) about at, or one pair
    for each of along; a Task's box when None. n: points on a side (81; 21 with two variables). step: of the central
    differences, as a share of the span. data: x (and y), loss, slope (the gradient along each direction), difference
    (the same from losses alone).
    """
    if isinstance(fun, Task):
        task = fun
        at = task.x0 if at is None else at
        title = title or f"Loss of {pathlib.Path(task.model_path).stem} under {task.contact}"
        fun = task.fun
        if span is None:
            span = _box(task, np.asarray(at, float), along)
    if at is None or span is None:
        raise ValueError("at and span: a function needs both; only a Task has a start and a box")
    at = np.asarray(at, float)
    ways = _directions(along, at.size, names)
    if len(ways) not in (1, 2):
        raise ValueError(f"along: one or two directions, not {len(ways)}")
    spans = [tuple(span)] * len(ways) if np.ndim(span) == 1 else [tuple(s) for s in span]
    if len(spans) != len(ways) or any(not low < high for low, high in spans):
        raise ValueError(f"span: (low, high) with low < high, one for each of the {len(ways)} directions")
    n = n or (81 if len(ways) == 1 else 21)
    grids = [np.linspace(low, high, n) for low, high in spans]
    mesh = np.meshgrid(*grids, indexing="ij")
    directions, each = [d for d, _ in ways], (len(ways), *mesh[0].shape)
    loss, slope, difference, stop = _sample(fun, _Points(at, directions, mesh), directions, [step * (high - low) for low, high in spans])
    data = {"x": grids[0], "loss": loss.reshape(mesh[0].shape), "slope": slope.reshape(each), "difference": difference.reshape(each)}
    if len(ways) == 2:
        data["y"] = grids[1]
    figure = _one(data, ways, title) if len(ways) == 1 else _two(data, ways, title)
    return _ended(Plot(figure, title or "Landscape", data), stop)


def _box(task, at, along):
    low, high = np.array(task.bounds, float).T
    spans = []
    for a in along:
        if np.ndim(a) != 0 or not np.isfinite(low[int(a)] + high[int(a)]):
            raise ValueError("span: needed, as the variable has no box or a direction is given")
        spans.append((low[int(a)] - at[int(a)], high[int(a)] - at[int(a)]))
    return spans


def _one(data, ways, title):
    figure, axes = _figure(1, 2, 6.4, 4.8)
    x, loss, slope = data["x"], data["loss"], data["slope"][0]
    top, bottom = axes[0, 0], axes[1, 0]
    top.plot(x, loss, color=OTHERS[0])
    reach = 0.5 * (x[-1] - x[0]) / 20
    height = np.nanmax(loss) - np.nanmin(loss)
    for i in range(0, len(x), max(1, len(x) // 20)):
        r = reach / np.hypot(1, slope[i] * (x[-1] - x[0]) / (height or 1)) * np.sqrt(2)
        top.plot([x[i] - r, x[i] + r], [loss[i] - r * slope[i], loss[i] + r * slope[i]], color=OTHERS[1], lw=2.2, solid_capstyle="round")
    top.set_ylabel("loss")
    top.set_title(title or "Loss, with the gradient as tangents")
    bottom.plot(x, data["difference"][0], "o", ms=3.2, color="#9aa5b0", label="difference of losses")
    bottom.plot(x, slope, color=OTHERS[1], label="gradient")
    bottom.set_ylabel("slope")
    bottom.set_xlabel(f"{ways[0][1]}, from the point")
    bottom.legend(loc="best")
    _robust(bottom, np.concatenate([slope, data["difference"][0]]))
    return figure


def _robust(axis, values):
    """Limits that a few jumps do not decide."""
    values = values[np.isfinite(values)]
    if values.size:
        low, high = np.percentile(values, [2, 98])
        room = 0.15 * (high - low) or 1.0
        axis.set_ylim(low - room, high + room)


def _two(data, ways, title):
    figure, axes = _figure(2, 1, 9.6, 4.2)
    x, y, loss = data["x"], data["y"], data["loss"]
    left, right = axes[0, 0], axes[0, 1]
    filled = left.contourf(x, y, loss.T, levels=24, cmap="Blues_r")
    figure.colorbar(filled, ax=left, label="loss")
    every = max(1, len(x) // 12)
    gx, gy = (-data["slope"][k][::every, ::every] for k in (0, 1))
    length = np.hypot(gx, gy)
    length[length == 0] = np.inf
    left.quiver(x[::every], y[::every], (gx / length).T, (gy / length).T, color=OTHERS[1], scale=22, width=0.005)
    left.grid(False)
    left.set_xlabel(f"{ways[0][1]}, from the point")
    left.set_ylabel(f"{ways[1][1]}, from the point")
    left.set_title(title or "Loss, arrows down the gradient")
    for k, (_, name) in enumerate(ways):
        right.plot(data["difference"][k].ravel(), data["slope"][k].ravel(), "o", ms=3, alpha=0.6, color=OTHERS[k], label=name)
    known = data["slope"][np.isfinite(data["slope"])]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    room = 0.1 * (high - low) or 1.0
    ends = [low - room, high + room]
    right.plot(ends, ends, color="#9aa5b0", lw=1, zorder=0)
    right.set_xlim(ends)
    right.set_ylim(ends)
    beyond = int(np.sum((data["difference"] < ends[0]) | (data["difference"] > ends[1])))
    if beyond:
        right.text(0.98, 0.02, f"{beyond} of {data['difference'].size} differences are beyond:\nthe loss jumps there",
                   ha="right", va="bottom", transform=right.transAxes, color="#5b6b7a")
    right.set_xlabel("slope by differences of losses")
    right.set_ylabel("slope by the gradient")
    right.set_title("On the line where gradient and differences agree")
    right.legend()
    return figure


@_styled
def force_profile(model: Any, joint: str, values: Any, contacts: Sequence[str] | None = None, *, entry: int = 0,
                  dt: float = 1e-3, n: int = 201,
                  options: Mapping[str, Mapping[str, Any]] | None = None, zero: float = 0.0, title: str | None = None) -> Plot:
    """
    Contact force along a joint's coordinate, and its derivative, as a body is held at rest at one place after the other.

    model: a Model or the path of one. joint: name. values: (low, high), of which n are taken, or an array [m or rad],
    written into qpos. contacts: words; all when None. entry: which of the joint's coordinates. dt: step over which the
    force is the mean [s]. options: {word: {name: value}}. zero: value that the picture calls 0. The force is the
    generalised one on that coordinate [N or N m]: M times the velocity that contact adds in a step, over dt. The
    derivative is that of the engine's Jacobian; it is that of the force where M does not depend on the coordinate. NaN
    where a contact model refuses the pose. data: x, and for each word WORD, WORD slope, WORD difference.
    """
    model = load(str(model)) if isinstance(model, (str, pathlib.Path)) else model
    where = model.joint(joint)
    x = np.linspace(*values, n) if len(values) == 2 else np.asarray(values, float)
    words = list(contacts) if contacts is not None else contact_models()
    data = {"x": x - zero}
    data.update({word + what: np.full(x.size, np.nan) for word in words for what in ("", " slope")})
    stop = None
    try:
        for word in words:
            _force(model, word, where.qadr + entry, where.vadr + entry, x, dt, (options or {}).get(word, {}),
                   data[word], data[word + " slope"])
    except KeyboardInterrupt as e:
        stop = e
    data.update({word + " difference": np.gradient(data[word], x) for word in words})
    figure, axes = _figure(1, 2, 6.4, 5.2)
    top, bottom = axes[:, 0]
    for k, word in enumerate(words):
        colour = COLOURS.get(word, OTHERS[k % len(OTHERS)])
        top.plot(data["x"], data[word], color=colour, label=word)
        bottom.plot(data["x"], data[word + " difference"], "o", ms=2.2, color=colour, alpha=0.35)
        bottom.plot(data["x"], data[word + " slope"], color=colour, lw=1.2)
    top.set_yscale("symlog", linthresh=_threshold([data[w] for w in words]))
    bottom.set_yscale("symlog", linthresh=_threshold([data[w + " slope"] for w in words]))
    top.set_ylabel("force")
    top.set_title(title or f"Contact force along {joint}")
    top.legend()
    bottom.set_ylabel("its derivative\n(line: Jacobian, dots: differences)")
    bottom.set_xlabel(f"{joint}" + (f", from {zero:g}" if zero else ""))
    return _ended(Plot(figure, title or f"Contact force along {joint}", data), stop)


def _threshold(series):
    largest = max((np.nanmax(np.abs(s)) for s in series if np.isfinite(s).any()), default=0)
    return max(largest * 1e-3, 1e-12)


def _force(model, word, q, v, x, dt, options, force, slope):
    """Fills force and slope."""
    sim, free = Sim(model, contact=word, dt=dt, **options), Sim(model, contact=None, dt=dt)
    unit, dofs = np.zeros(model.nv), slice(model.nv, 2 * model.nv)   # rows of the velocities after the step
    for i, at in enumerate(x):
        try:
            for s in (sim, free):
                s.reset()
                s.qpos[q] = at
            free.forward()
            row = _mass_row(free, v, unit)
            sim.step()
            free.step()
        except Error:
            continue
        force[i] = row @ (sim.qvel - free.qvel) / dt
        slope[i] = row @ (sim.jacobians().A[dofs, v] - free.jacobians().A[dofs, v]) / dt


def _mass_row(sim, v, unit):
    """Row v of the mass matrix: M e_v, as M is symmetric."""
    unit[v] = 1
    row = sim.inverse_dynamics(unit) - sim.inverse_dynamics(np.zeros_like(unit))
    unit[v] = 0
    return row


def _curve(run):
    """(iterations, losses, seconds or None) of a folder of tangere optimize, an Optimum, or an array."""
    if isinstance(run, Optimum):
        return np.arange(len(run.curve)), np.asarray(run.curve), run.seconds
    if isinstance(run, (str, pathlib.Path)):
        import json
        folder = pathlib.Path(run)
        with open(folder / "loss.csv", newline="") as f:
            rows = list(csv.DictReader(f))
        report = folder / "run.json"
        seconds = json.loads(report.read_text()).get("seconds") if report.exists() else None
        return np.array([float(r["iteration"]) for r in rows]), np.array([float(r["loss"]) for r in rows]), seconds
    losses = np.asarray(run, float)
    return np.arange(losses.size), losses, None


@_styled
def convergence(runs: Mapping[str, Any], *, over: str = "iterations", log: bool = True, title: str | None = None) -> Plot:
    """
    Losses of several runs over iterations or time.

    runs: {label: run}, a run being a folder that tangere optimize left, an Optimum, or an array of losses. over:
    "iterations", or "seconds", for which a run's own time is shared out evenly among its iterations. A thin line is
    each iterate's loss, a thick one the least so far. data: LABEL x, LABEL loss, LABEL best.
    """
    if over not in ("iterations", "seconds"):
        raise ValueError(f"over: 'iterations' or 'seconds', not '{over}'")
    figure, axes = _figure(1, 1, 6.4, 3.8)
    axis, data = axes[0, 0], {}
    for k, (label, run) in enumerate(runs.items()):
        x, loss, seconds = _curve(run)
        if over == "seconds":
            if seconds is None:
                raise ValueError(f"runs: '{label}' does not say how long it took")
            x = x * (seconds / max(x[-1], 1))
        best = np.fmin.accumulate(loss)
        data.update({f"{label} x": x, f"{label} loss": loss, f"{label} best": best})
        colour = COLOURS.get(label, OTHERS[k % len(OTHERS)])
        axis.plot(x, loss, color=colour, lw=0.8, alpha=0.5)
        axis.plot(x, best, color=colour, lw=2, label=label)
    positive = all((v > 0).all() for n, v in data.items() if n.endswith(" best"))
    if log and positive:
        axis.set_yscale("log")
    axis.set_xlabel("iteration" if over == "iterations" else "time [s]")
    axis.set_ylabel("loss")
    axis.set_title(title or "Convergence (thick: the least so far)")
    axis.legend()
    return Plot(figure, title or "Convergence", data)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: python -m tangere.plot."""
    parser = argparse.ArgumentParser(prog="python -m tangere.plot",
                                     description="Landscapes, force profiles and convergence as .png, .svg or .html.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    p = kinds.add_parser("landscape", help="loss and gradient of a task over one or two of its variables")
    p.add_argument("task")
    p.add_argument("--along", type=int, nargs="+", default=[0], metavar="VARIABLE")
    p.add_argument("--span", type=float, nargs=2, metavar=("LOW", "HIGH"), help="about the task's start; the variables' box when left out")
    p.add_argument("--contact")
    p.add_argument("-n", type=int)
    p.add_argument("--out", default="landscape.svg")
    p = kinds.add_parser("force", help="contact force along a joint under several contact models")
    p.add_argument("model")
    p.add_argument("joint")
    p.add_argument("low", type=float)
    p.add_argument("high", type=float)
    p.add_argument("--contact", nargs="+", metavar="WORD")
    p.add_argument("--zero", type=float, default=0.0)
    p.add_argument("--out", default="force.svg")
    p = kinds.add_parser("convergence", help="losses of folders that tangere optimize left")
    p.add_argument("folder", nargs="+")
    p.add_argument("--over", choices=("iterations", "seconds"), default="iterations")
    p.add_argument("--out", default="convergence.svg")
    a = parser.parse_args(arguments)
    try:
        if a.kind == "landscape":
            plot = landscape(Task(a.task, contact=a.contact), along=a.along, span=a.span, n=a.n)
        elif a.kind == "force":
            plot = force_profile(a.model, a.joint, (a.low, a.high), a.contact, zero=a.zero)
        else:
            plot = convergence({pathlib.Path(f).name: f for f in a.folder}, over=a.over)
        print(plot.save(a.out))
    except KeyboardInterrupt:
        print("tangere.plot: interrupted", file=sys.stderr)
        if interrupted is not None:
            print(interrupted.save(a.out))
        return 130
    except (Error, ValueError, KeyError, OSError, ImportError) as e:
        print(f"tangere.plot: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
