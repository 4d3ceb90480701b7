"""Steps and trajectories as JAX functions, with first derivatives (jit, vmap, grad), and second ones under `softmin`
(hessian, jvp of grad).

    batch = tg.Batch(model, contact="lcp", dt=0.01)
    q, v = tangere.jax.rollout(batch, q0, v0, u)           # q0 (..., nq), v0 (..., nv + na), u (..., steps, nu)

Positions are differentiated entry by entry (nq); quaternions are normalised first. The engine computes in float64 on
the CPU, whatever the arrays' type; jax.config.update("jax_enable_x64", True) keeps the digits. A trajectory that fails
raises, or is NaN with on_error="nan".
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _lanes, _second
from ._tangere import Batch


def _call(function, shapes, *arrays):
    return jax.pure_callback(function, shapes, *arrays, vmap_method="broadcast_all")


def _types(*arrays):
    return tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays)


def _motion(batch, q0, v0, u):
    """Shapes and types of a trajectory."""
    model, lead, steps = batch.model, q0.shape[:-1], u.shape[-2]
    return tuple(jax.ShapeDtypeStruct(lead + (steps + 1, n), q0.dtype) for n in (model.nq, model.nv + model.na))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _rollout(batch, on_error, names, q0, v0, u, params):
    return _forward(batch, on_error, names, q0, v0, u, params)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _forward(batch, on_error, names, q0, v0, u, params):
    def run(q0, v0, u, *params):
        q, v = _lanes.forward(batch, q0, v0, u, dict(zip(names, params)), on_error)
        return q.astype(dtype), v.astype(dtype)

    dtype = np.dtype(q0.dtype)
    return _call(run, _motion(batch, q0, v0, u), q0, v0, u, *params)


@_forward.defjvp
def _forward_rate(batch, on_error, names, primals, rates):
    q, v = _forward(batch, on_error, names, *primals)
    zero = jnp.zeros_like(q), jnp.zeros_like(v)
    return (q, v), _product(batch, names, primals, q, zero, rates)[:2]


def _keep(batch, on_error, names, q0, v0, u, params):
    q, v = _forward(batch, on_error, names, q0, v0, u, params)
    return (q, v), (q0, v0, u, params, q)


def _backward(batch, on_error, names, kept, cotangents):
    q0, v0, u, params, q = kept
    return _adjoint(batch, on_error, names, q0, v0, u, params, q, *cotangents)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _adjoint(batch, on_error, names, q0, v0, u, params, q, gq, gv):
    def run(q0, v0, u, q, gq, gv, *params):
        g = _lanes.adjoint(batch, q0, v0, u, dict(zip(names, params)), q, gq, gv, on_error)
        parts = (g[0], g[1], g[2], *(g[3][name] for name in names))
        return tuple(part.astype(like.dtype) for part, like in zip(parts, (q0, v0, u, *params)))

    g = _call(run, _types(q0, v0, u, *params), q0, v0, u, q, gq, gv, *params)
    return g[0], g[1], g[2], tuple(g[3:])


@_adjoint.defjvp
def _adjoint_rate(batch, on_error, names, primals, rates):
    # q is a function of the others: what it changes is in the product with the Hessian already
    q0, v0, u, params, q, gq, gv = primals
    out = _adjoint(batch, on_error, names, *primals)
    linear = _adjoint(batch, on_error, names, q0, v0, u, params, q, *rates[5:])
    bent = _product(batch, names, primals[:4], q, (gq, gv), rates[:4])[2:]
    return out, (*(a + b for a, b in zip(linear[:3], bent)), tuple(a + b for a, b in zip(linear[3], bent[3:])))


def _product(batch, names, at, q, weights, rates):
    """Rates of the trajectory and the product with the Hessian of <weights, trajectory>, along rates of q0, v0, u and the parameters."""
    q0, v0, u, params = at
    n = len(names)

    def run(q0, v0, u, q, gq, gv, dq0, dv0, du, *more):
        values, along = (dict(zip(names, part)) for part in (more[:n], more[n:]))
        *parts, bent = _second.product(batch, q0, v0, u, values, q, gq, gv, dq0, dv0, du, along)
        parts = (*parts, *(bent[name] for name in names))
        return tuple(part.astype(shape.dtype) for part, shape in zip(parts, shapes))

    shapes = _motion(batch, q0, v0, u) + _types(q0, v0, u, *params)
    return _call(run, shapes, q0, v0, u, q, *weights, *rates[:3], *params, *rates[3])


_rollout.defvjp(_keep, _backward)


def rollout(batch: Batch, q0: Any, v0: Any, u: Any, params: dict[str, Any] | None = None,
            on_error: str = "raise") -> tuple[jax.Array, jax.Array]:
    """Trajectory (q, v), (..., steps + 1, nq) and (..., steps + 1, nv + na), of q0 (..., nq),
    v0 (..., nv + na) and controls u (..., steps, nu).

    params: parameters by name, of their own shape for all trajectories or with leading axes; they are differentiated too."""
    params = params or {}
    q0, v0, u = jnp.asarray(q0), jnp.asarray(v0), jnp.asarray(u)
    return _rollout(batch, on_error, tuple(params), q0, v0, u, tuple(jnp.asarray(p) for p in params.values()))


def step(batch: Batch, q: Any, v: Any, u: Any, params: dict[str, Any] | None = None,
         on_error: str = "raise") -> tuple[jax.Array, jax.Array]:
    """(q', v') one step later; u (..., nu)."""
    Q, V = rollout(batch, q, v, jnp.asarray(u)[..., None, :], params, on_error)
    return Q[..., 1, :], V[..., 1, :]
