"""What tangere.jax and tangere.torch share: trajectories and their adjoints over arrays of positions entry by entry
(nq), any leading axes."""

import math

import numpy as np

from . import _tangere
from ._layout import Layout
from ._errors import Error


def _rows(array, tail):
    """Leading axes of an array that ends in `tail` axes, and the array with them as one."""
    array = np.ascontiguousarray(array, dtype=np.float64)
    lead = array.shape[: array.ndim - tail]
    return lead, array.reshape((math.prod(lead),) + array.shape[array.ndim - tail:])


def _params(params, axes, lead):
    """Parameters with one row a trajectory: leading axes of theirs are the first of the trajectories', or 1, and are repeated over the
    others."""
    rows = {}
    for name, value in params.items():
        value = np.ascontiguousarray(value, dtype=np.float64)
        split = value.ndim - axes[name]
        own, given = value.shape[max(split, 0):], value.shape[:max(split, 0)]
        if split < 0 or len(given) > len(lead) or any(g not in (1, n) for g, n in zip(given, lead)):
            raise ValueError(f"{name}: shape is {value.shape}; its own {axes[name]} axes are needed, with or without leading axes as those "
                             f"of {lead}")
        value = value.reshape(given + (1,) * (len(lead) - split) + own)
        rows[name] = np.ascontiguousarray(np.broadcast_to(value, lead + own)).reshape((math.prod(lead),) + own)
    return rows


def shared(rows, value, lead):
    """Rows of a parameter's gradient, one a trajectory, summed over the trajectories that share its value."""
    shape = np.shape(value)
    own = len(shape) - rows.ndim + 1   # leading axes of its own
    rows = rows.reshape(lead + rows.shape[1:])
    return rows.sum(axis=tuple(k for k in range(len(lead)) if k >= own or shape[k] != lead[k])).reshape(shape)


def _inputs(q0, v0, u):
    lead, q0 = _rows(q0, 1)
    for name, array, tail in (("v0", v0, 1), ("u", u, 2)):
        own = np.shape(array)[: np.ndim(array) - tail]
        if own != lead:
            raise ValueError(f"{name}: leading axes are {own}, those of q0 are {lead}")
    return lead, q0, _rows(v0, 1)[1], _rows(u, 2)[1]


def _axes(batch, names):
    """Number of axes of each parameter's own shape."""
    return {name: len(batch.param_shape(name)) for name in names}


def common(*leads):
    """The leading axes that trajectories have whose start, velocities and controls have these."""
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        raise ValueError("leading axes of q0, v0 and u are {}, {} and {}, which do not broadcast".format(*map(tuple, leads))) from None


def _raise_first(ok, errors):
    for i, good in enumerate(ok):
        if not good:
            raise Error(f"trajectory {i}: {errors[i]}")


class Failures:
    """As on_error: a trajectory that fails is NaN, no gradient goes through it, and its text is kept here; a gradient that fails where its
    trajectory did not raises."""

    def __init__(self):
        self.error = []   # a text for each trajectory of the last call, '' where it did not fail


class Fixed:
    """A batch whose trajectories have parameters of their own in which no derivative is taken: arrays by name, one row a trajectory."""

    def __init__(self, batch, rows):
        self.batch, self.fixed = batch, rows

    def __getattr__(self, name):
        return getattr(self.batch, name)

    def rollout(self, *arrays, params):
        """As Batch has it."""
        return self.batch.rollout(*arrays, params=self.fixed | params)

    def vjp(self, *arrays, params, wrt=()):
        """As Batch has it."""
        return self.batch.vjp(*arrays, params=self.fixed | params, wrt=list(wrt))

    def put(self, sim, i):
        """Sets the parameters of trajectory i in a simulation."""
        for name, rows in self.fixed.items():
            sim.set_param(name, rows[i])


def forward(batch, q0, v0, u, params, on_error="raise"):
    """(q, v) of shapes (..., steps + 1, nq) and (..., steps + 1, nv + na). on_error 'nan': a trajectory that fails is NaN."""
    lead, q0, v0, u = _inputs(q0, v0, u)
    rows = _params(params, _axes(batch, params), lead)
    run = batch.rollout(_tangere.normalize(batch.model, q0), v0, u, params=rows)
    if on_error == "raise":
        _raise_first(run.ok, run.error)
    if isinstance(on_error, Failures):
        on_error.error = list(run.error)
    for i, good in enumerate(run.ok):
        if not good:
            run.q[i], run.v[i] = np.nan, np.nan
    return run.q.reshape(lead + run.q.shape[1:]), run.v.reshape(lead + run.v.shape[1:])


def adjoint(batch, q0, v0, u, params, q, gq, gv, on_error="raise"):
    """Gradients of <gq, q> + <gv, v> in q0, v0, u and the parameters, entry by entry; q is what forward gave."""
    model = batch.model
    lead, q0, v0, u = _inputs(q0, v0, u)
    _, q = _rows(q, 2)
    _, gq = _rows(gq, 2)
    _, gv = _rows(gv, 2)
    failed = ~np.isfinite(q).all(axis=(1, 2))
    q, gq, gv = (np.where(failed[:, None, None], fill, x)
                 for x, fill in ((q, np.tile(q0[:, None, :], (1, q.shape[1], 1))), (gq, 0.0), (gv, 0.0)))
    rows = _params(params, _axes(batch, params), lead)
    grad = batch.vjp(_tangere.normalize(model, q0), v0, u, _tangere.to_tangent(model, q, gq), gv, params=rows, wrt=list(params))
    kept = isinstance(on_error, Failures)
    if on_error == "raise" or kept:
        _raise_first(failed | grad.ok if kept else grad.ok, grad.error)
    bad, blank = failed | ~np.array(grad.ok), 0.0 if kept else np.nan
    out = [_tangere.from_tangent(model, q0, grad.q0), grad.v0, grad.u]
    for array in out:
        array[bad] = blank
    shaped = [a.reshape(lead + a.shape[1:]) for a in out]
    dparams = {}
    for name, value in params.items():
        g = grad.params[name]
        g[bad] = blank
        dparams[name] = shared(g, value, lead)
    return shaped[0], shaped[1], shaped[2], dparams


def rates(batch, q0, v0, u, params, q, dq0, dv0, du, dparams, on_error="raise"):
    """Rates (q, v) of trajectories along (dq0, dv0, du, dparams) by the Jacobians of their steps, entry by entry; q is what forward gave.

    An axis of length 1 in front of the trajectories' arrays may be longer in the directions': the Jacobians of a trajectory are made once
    for all of them."""
    try:
        batch._sim
    except Error:
        raise Error("forward mode is of the steps themselves, and this batch takes its gradients from another contact model; take reverse "
                    "mode") from None
    lead, x0, v0, u = _inputs(q0, v0, u)
    axes = _axes(batch, params)
    rows = _params(params, axes, lead)
    whole, q = np.shape(dq0)[:-1], _rows(q, 2)[1]
    drows = {name: value.reshape(whole + value.shape[1:]) for name, value in _params(dparams, axes, whole).items()}
    dq0, dv0, du = (np.ascontiguousarray(d, dtype=np.float64) for d in (dq0, dv0, du))
    model, steps = batch.model, u.shape[1]
    Q, V = (np.zeros(whole + (steps + 1, n)) for n in (model.nq, model.nv + model.na))
    start, sim = _tangere.normalize(model, x0), batch.sim()
    for i, place in enumerate(np.ndindex(lead)):
        at = tuple(k if n == whole[axis] else slice(None) for axis, (k, n) in enumerate(zip(place, lead)))
        try:
            if isinstance(batch, Fixed):
                batch.put(sim, i)
            one = _lane(sim, start[i], v0[i], u[i], {n: r[i] for n, r in rows.items()}, q[i], Layout(model).tangent(x0[i], dq0[at]),
                        dv0[at], du[at], {n: d[at] for n, d in drows.items()})
        except Error as failed:
            if on_error == "raise":
                raise Error(f"trajectory {i}: {failed}") from None
            one = np.nan, np.nan
        Q[at], V[at] = one
    return Q, V


def _lane(sim, q0, v0, u, params, q, w0, dv0, du, dparams):
    """Rates of one trajectory along directions with any leading axes: the chain of A, B and the parameters' blocks."""
    layout, nv, nw = Layout(sim.model), w0.shape[-1], dv0.shape[-1]
    for name, value in params.items():
        sim.set_param(name, value)
    sim.reset()
    sim.qpos[:], sim.qvel[:], sim.act[:] = q0, v0[:nv], v0[nv:]
    x, states = np.concatenate([w0, dv0], -1), []
    for t in range(len(u)):
        states.append(x)
        sim.step(u[t])
        J = sim.jacobians(params=list(params))
        x = x @ J.A.T + du[..., t, :] @ J.B.T
        for name, d in dparams.items():
            x = x + d.reshape(d.shape[: d.ndim - params[name].ndim] + (-1,)) @ J.params[name].reshape(nv + nw, -1).T
    states = np.stack([*states, x], -2)
    return layout.entries(q, states[..., :nv]), states[..., nv:]
