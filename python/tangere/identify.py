"""Parameters of a model from motions that were measured with noise, with error bars.

    fit = tangere.identify.fit(sim, q0, u, measured, [{"name": "body_mass", "of": "box"}, {"name": "geom_friction", "of": "floor"}])
    print(fit)                                             # values, standard deviations, correlations

Least squares by Gauss-Newton (Levenberg's damping where a step does not descend): with r the residuals divided by their standard deviations
and J = dr/dp from the exact Jacobians of the steps, J'J dp = -J'r. The covariance of the values is (J'J)^-1, to first order in the noise:
right where the noise is small against how the motion bends in the parameters, and where the model is the world's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._errors import Error
from ._tangere import Sim, param_range

Array = np.ndarray[Any, Any]

DIGITS = 1e-9
"""Changes and combinations of parameters that motions show by less than this part are those of the rounding."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """What was found."""

    labels: list[str]
    """Of each value: "body_mass of box"."""
    values: Array
    """The parameters, (n,)."""
    covariance: Array
    """Of the values, (n, n)."""
    sigma: float
    """Standard deviation of the residuals divided by what was given as theirs: about 1 where that was right."""
    cost: float
    """Half the sum of squared residuals, divided by their standard deviations."""
    iterations: int
    """Steps of Gauss-Newton that were made."""
    converged: bool
    """The last one would move no value by more than a millionth of its error bar."""
    bound: list[bool]
    """Whether each value is at its bound, where its error bar says nothing."""
    count: int
    """Number of measured numbers."""
    given: bool = True
    """Whether `noise` was given; else sigma is the residuals' own standard deviation, which the error bars are made with."""

    @property
    def explained(self) -> bool:
        """False: the residuals are far larger than the noise that was given, beyond what chance makes of so many. The fit is then another
        minimum, or the model is not the world's, and the error bars, which are those of the noise, say nothing."""
        return not self.given or self.sigma < 1 + 5 / np.sqrt(2 * self.count)

    @property
    def std(self) -> Array:
        """Standard deviations of the values, (n,)."""
        out: Array = np.sqrt(np.diag(self.covariance))
        return out

    @property
    def correlation(self) -> Array:
        """Correlations of the values, (n, n)."""
        out: Array = self.covariance / np.outer(self.std, self.std)
        return out

    def __str__(self) -> str:
        rows = [f"{label}: {value:.6g} +- {std:.2g}{' (at its bound)' if bound else ''}"
                for label, value, std, bound in zip(self.labels, self.values, self.std, self.bound)]
        spread = (f"residuals {self.sigma:.3g} times those expected" if self.given
                  else f"standard deviation of the residuals {self.sigma:.3g}")
        end = f"{self.iterations} iterations{'' if self.converged else ', not converged'}; {spread}"
        doubt = [] if self.explained else ["not explained by noise: the error bars do not hold; try other starts, or another model"]
        return "\n".join([*rows, end, *doubt])


class _Unknowns:
    """The parameters that are sought: entries of arrays, from the rows of a task file."""

    def __init__(self, sim: Sim, rows: Sequence[Mapping[str, Any]]):
        self.at: list[tuple[str, int]] = []
        self.labels: list[str] = []
        start, low, high = [], [], []
        for row in rows:
            unknown = set(row) - {"name", "of", "entry", "start", "low", "high"}
            if unknown or "name" not in row:
                raise ValueError(f"parameters: {dict(row)}: name is needed, of, entry, start, low and high allowed")
            name, own = str(row["name"]), sim.param(str(row["name"]))
            try:
                places, numbers = sim.param_entries(name, row.get("of"), row.get("entry"))
            except ValueError as wrong:
                raise ValueError(f"parameters: {wrong.args[0]}") from None
            for place, number in zip(places, numbers):
                if (name, place) in self.at:
                    raise ValueError(f"parameters: {name} of {row.get('of')} is sought twice")
                self.at.append((name, place))
                entry = f"[{number}]" if len(places) > 1 or row.get("entry") is not None else ""
                self.labels.append(f"{name}{entry} of {row.get('of') or 'the model'}")
                start.append(float(row.get("start", np.ravel(own)[place])))
                least, most = param_range(name, start[-1])
                low.append(float(row.get("low", least)))
                high.append(float(row.get("high", most)))
                if not low[-1] <= start[-1] <= high[-1]:
                    raise ValueError(f"parameters: {self.labels[-1]} starts at {start[-1]:g}, which is not within {low[-1]:g} and "
                                     f"{high[-1]:g}")
        if not self.at:
            raise ValueError("parameters: none is sought")
        self.names = list(dict.fromkeys(name for name, _ in self.at))
        self.start, self.low, self.high = np.array(start), np.array(low), np.array(high)

    def scale(self, values: Array) -> Array:
        """What a change of each is measured by: the size that it has or started with, from 0 its range, at most 1."""
        least = np.where(self.start != 0, np.abs(self.start), np.minimum(self.high - self.low, 1))
        return np.asarray(np.maximum(np.abs(values), least))

    def put(self, sim: Sim, values: Array) -> None:
        """Sets them in a simulation."""
        arrays = {name: sim.param(name).copy() for name in self.names}
        for (name, place), value in zip(self.at, values):
            arrays[name].reshape(-1)[place] = value
        for name, array in arrays.items():
            sim.set_param(name, array)

    def columns(self, blocks: Mapping[str, Array]) -> Array:
        """Their columns of the Jacobian of a step in the parameters, (rows, n)."""
        return np.stack([blocks[name].reshape(len(blocks[name]), -1)[:, place] for name, place in self.at], 1)


def _simulate(sim: Sim, unknowns: _Unknowns, q0: Array, v0: Array, u: Array, measured: Array) -> tuple[Array, Array]:
    """(steps, nv) differences from what was measured to the motion after each step, and their derivatives (steps, nv, n)."""
    model = sim.model
    nv, x = model.nv, np.zeros((2 * model.nv + model.na, len(unknowns.at)))
    sim.reset()
    sim.qpos[:], sim.qvel[:], sim.act[:] = q0, v0[:nv], v0[nv:]
    miss, slope = np.zeros((len(u), nv)), np.zeros((len(u), nv, len(unknowns.at)))
    for t, control in enumerate(u):
        sim.step(np.ascontiguousarray(control))
        J = sim.jacobians(params=unknowns.names)
        x = J.A @ x + unknowns.columns(J.params)
        miss[t], slope[t] = model.difference(np.ascontiguousarray(measured[t + 1]), sim.qpos), x[:nv]
    return miss, slope


class _Data:
    """Motions as they were measured."""

    def __init__(self, sim: Sim, q0: Any, v0: Any, u: Any, measured: Any, noise: Any):
        model = sim.model
        self.measured = np.asarray(measured, dtype=float)
        if self.measured.ndim == 2:
            self.measured = self.measured[None]
        n, rows = self.measured.shape[0], self.measured.shape[1] if self.measured.ndim == 3 else 0
        if self.measured.ndim != 3 or self.measured.shape[2] != model.nq or rows < 2:
            raise ValueError(f"measured: shape is {np.shape(measured)}, (steps + 1, {model.nq}) or (n, steps + 1, {model.nq}) is needed")
        self.q0 = self._rows("q0", self.measured[:, 0] if q0 is None else q0, (n, model.nq))
        self.v0 = self._rows("v0", np.zeros(model.nv + model.na) if v0 is None else v0, (n, model.nv + model.na))
        self.u = self._rows("u", np.zeros((rows - 1, model.nu)) if u is None else u, (n, rows - 1, model.nu))
        self.noise = np.broadcast_to(np.asarray(1.0 if noise is None else noise, dtype=float), (model.nv,))
        if not (self.noise > 0).all():
            raise ValueError("noise: standard deviations above 0 are needed (inf: not measured)")
        seen = np.isfinite(self.noise)
        ways = [model.difference(q, np.ascontiguousarray(state))[seen] / self.noise[seen] for q, states in zip(self.q0, self.measured)
                for state in states]
        self.way = float(np.linalg.norm(ways))   # how far the motions go, as residuals are measured

    @staticmethod
    def _rows(name: str, given: Any, shape: tuple[int, ...]) -> Array:
        array = np.asarray(given, dtype=float)
        if array.shape not in (shape, shape[1:]):
            raise ValueError(f"{name}: shape is {array.shape}, {shape[1:]} or {shape} is needed")
        return np.ascontiguousarray(np.broadcast_to(array, shape))

    def residuals(self, sim: Sim, unknowns: _Unknowns, values: Array) -> tuple[Array, Array]:
        """r (m,) and J (m, n) of all motions, of what was measured."""
        unknowns.put(sim, values)
        seen = np.isfinite(self.noise)
        r, J = [], []
        for q0, v0, u, measured in zip(self.q0, self.v0, self.u, self.measured):
            miss, slope = _simulate(sim, unknowns, q0, v0, u, measured)
            r.append((miss[:, seen] / self.noise[seen]).ravel())
            J.append((slope[:, seen] / self.noise[seen][:, None]).reshape(-1, len(values)))
        return np.concatenate(r), np.concatenate(J)

    def seen(self, unknowns: _Unknowns, values: Array, J: Array) -> Array:
        """Which parameters the motions show: those of which a change by their scale moves what was measured by more than its digits."""
        return np.asarray(np.linalg.norm(J, axis=0) * unknowns.scale(values) > DIGITS * self.way)


def _inverse(J: Array, seen: Array, labels: Sequence[str]) -> Array:
    """(J'J)^-1. tangere.Error where the motions leave some combination of the parameters open."""
    size = np.linalg.norm(J, axis=0)
    if not (seen & (size > 0)).all():
        label = labels[int(np.argmin(seen & (size > 0)))]
        why = " (of two geoms in contact the larger one counts)" if label.startswith(("geom_friction", "geom_restitution")) else ""
        if label.startswith("geom_friction"):
            why = why[:-1] + ", and only where the contact slides, which it may not do at the start values)"
        raise Error(f"the motions do not depend on {label}{why}")
    _, s, Vt = np.linalg.svd(J / size, full_matrices=False)
    if s[-1] < DIGITS * s[0]:
        mixed = [label for label, part in zip(labels, Vt[-1]) if abs(part) > 0.1]
        raise Error(f"the motions do not tell apart {' and '.join(mixed)}")
    half = Vt.T / s
    out: Array = half @ half.T / np.outer(size, size)
    return out


def fit(sim: Sim, q0: Any, u: Any, measured: Any, parameters: Sequence[Mapping[str, Any]], *, v0: Any = None, noise: Any = None,
        iterations: int = 50) -> Fit:
    """Parameters with which motions of `sim` come nearest to those that were measured.

    q0 (nq,), v0 (nv + na,), u (steps, nu), measured (steps + 1, nq), or of several motions with an axis in front; None of q0: the first
    measured state, of v0 and u: zero. The start is taken as known; residuals are of the states after it, in tangent coordinates (nv).
    parameters: rows {name, of, entry, start, low, high} as a task file's. noise: standard deviation of each coordinate of the tangent, one
    for all or (nv,), inf of what was not measured; None: one and the same for all, estimated from the residuals.

    Afterwards `sim` has the values. Raises ValueError for wrong rows, and tangere.Error where a step fails or the motions leave parameters
    open, with their names."""
    unknowns, data = _Unknowns(sim, parameters), _Data(sim, q0, v0, u, measured, noise)
    p, damping, converged, done = unknowns.start, 0.0, False, 0
    r, J = data.residuals(sim, unknowns, p)
    if len(r) <= len(p):
        raise ValueError(f"measured: {len(r)} numbers for {len(p)} parameters")
    while done < iterations and not converged:
        shown = data.seen(unknowns, p, J)
        free = shown & ~(((p <= unknowns.low) & (J.T @ r > 0)) | ((p >= unknowns.high) & (J.T @ r < 0)))
        step = np.zeros_like(p)
        if free.any():
            size = np.linalg.norm(J[:, free], axis=0)
            size[size == 0] = 1
            damped = np.vstack([J[:, free] / size, np.sqrt(damping) * np.eye(len(size))])
            step[free] = np.linalg.lstsq(damped, -np.concatenate([r, np.zeros(len(size))]), rcond=DIGITS)[0] / size
        ahead = np.clip(p + step, unknowns.low, unknowns.high)
        spread = np.sqrt(2 * max(_half(r), 1e-300) / len(r)) if noise is None else 1.0
        converged = bool(np.linalg.norm(J @ (ahead - p)) <= 1e-6 * spread) or bool(np.allclose(ahead, p, rtol=1e-12, atol=0))
        if converged:
            break
        done += 1
        try:
            r1, J1 = data.residuals(sim, unknowns, ahead)
        except Error:
            if damping > 1e8:
                raise
            r1, J1 = np.full_like(r, np.inf), J
        if _half(r1) < _half(r):
            p, r, J, damping = ahead, r1, J1, damping / 10 if damping > 1e-6 else 0.0
        elif damping > 1e10:   # no step descends any more: differences are within rounding
            converged = True
        else:
            damping = max(10 * damping, 1e-3)
    unknowns.put(sim, p)
    sigma = float(np.sqrt(2 * _half(r) / (len(r) - len(p))))
    bound = [bool(b) for b in (p <= unknowns.low) | (p >= unknowns.high)]
    covariance = _inverse(J, data.seen(unknowns, p, J), unknowns.labels) * (sigma ** 2 if noise is None else 1.0)
    return Fit(unknowns.labels, p, covariance, sigma, _half(r), done, converged, bound, len(r), noise is not None)


def _half(r: Array) -> float:
    return 0.5 * float(r @ r)
