"""What tangere.jax and tangere.torch share: trajectories and their adjoints over arrays of positions entry by entry
(nq), any leading axes."""

import math

import numpy as np

from . import _tangere
from ._errors import Error


def _rows(array, tail):
    """Leading axes of an array that ends in `tail` axes, and the array with them as one."""
    array = np.ascontiguousarray(array, dtype=np.float64)
    lead = array.shape[: array.ndim - tail]
    return lead, array.reshape((math.prod(lead),) + array.shape[array.ndim - tail:])


def _params(params, axes, lead):
    """Parameters with one row a trajectory: leading axes of theirs are the first of the trajectories', and are repeated over the others."""
    rows = {}
    for name, value in params.items():
        value = np.ascontiguousarray(value, dtype=np.float64)
        split = value.ndim - axes[name]
        own, given = value.shape[split:], value.shape[:split]
        if given != lead[:split]:
            raise ValueError(f"{name}: shape is {value.shape}, {own} with leading axes as those of {lead} is needed")
        value = value.reshape(given + (1,) * (len(lead) - split) + own)
        rows[name] = np.ascontiguousarray(np.broadcast_to(value, lead + own)).reshape((math.prod(lead),) + own)
    return rows


def shared(rows, value, lead):
    """Rows of a parameter's gradient, one a trajectory, summed over the trajectories that share its value."""
    own = np.ndim(value) - rows.ndim + 1   # leading axes of its own
    return rows.reshape(lead + rows.shape[1:]).sum(axis=tuple(range(own, len(lead))))


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


def _raise_first(ok, errors):
    for i, good in enumerate(ok):
        if not good:
            raise Error(f"trajectory {i}: {errors[i]}")


def forward(batch, q0, v0, u, params, on_error="raise"):
    """(q, v) of shapes (..., steps + 1, nq) and (..., steps + 1, nv + na). on_error 'nan': a trajectory that fails is NaN."""
    lead, q0, v0, u = _inputs(q0, v0, u)
    rows = _params(params, _axes(batch, params), lead)
    run = batch.rollout(_tangere.normalize(batch.model, q0), v0, u, params=rows)
    if on_error == "raise":
        _raise_first(run.ok, run.error)
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
    if on_error == "raise":
        _raise_first(grad.ok, grad.error)
    bad = failed | ~np.array(grad.ok)
    out = [_tangere.from_tangent(model, q0, grad.q0), grad.v0, grad.u]
    for array in out:
        array[bad] = np.nan
    shaped = [a.reshape(lead + a.shape[1:]) for a in out]
    dparams = {}
    for name, value in params.items():
        g = grad.params[name]
        g[bad] = np.nan
        dparams[name] = shared(g, value, lead)
    return shaped[0], shaped[1], shaped[2], dparams
