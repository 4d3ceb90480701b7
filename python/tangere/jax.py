"""Steps and trajectories as JAX functions: jit, vmap, grad, jvp, jacfwd, jacrev, and second derivatives under `softmin`, `damped` and
`toi` (hessian, jvp of grad, grad of grad).

    batch = tg.Batch(model, contact="lcp", dt=0.01)
    q, v = tangere.jax.rollout(batch, q0, v0, u)           # q0 (..., nq), v0 (..., nv + na), u (..., steps, nu)

Positions are differentiated entry by entry (nq); quaternions are normalised first. The engine computes in float64 on
the CPU, wherever the arrays are: the trajectory is of the widest type of the arguments and on their device, each gradient
of the type of its own array; jax.config.update("jax_enable_x64", True) keeps the digits. A trajectory that fails raises
tangere.Error (inside jit an error of JAX that ends with that one's text), or is NaN with on_error="nan".
"""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _lanes, _second
from ._errors import Error
from ._tangere import Batch

# Each primitive is of (batch, on_error, names) and of arrays: `at` is (q0, v0, u, parameters), a direction has their shapes.
#   _run      at                        the motion (q, v)
#   _rates    q, at, direction          its rates; linear in the direction
#   _adjoint  gq, gv, q, at             the gradient of <gq, q> + <gv, v> in at; linear in gq, gv, and the transpose of _rates
#   _hessian  gq, gv, q, at, direction  that gradient's rates; linear in the direction, and its own transpose
# q is a function of at: what it changes is counted there.


def _in_front(array, dim, size):
    """vmap's axis in front, repeated where it does not run over this one."""
    return jnp.broadcast_to(array, (size,) + array.shape) if dim is None else jnp.moveaxis(array, dim, 0)


def _device(arrays):
    """The device that arrays were put on, for results outside of jit; None where JAX may choose."""
    held = {device for x in arrays if isinstance(x, jax.Array) and x.committed for device in x.devices()}
    if len(held) > 1:
        raise ValueError(f"the arrays lie on {' and '.join(sorted(map(str, held)))}; one device is needed for all (jax.device_put)")
    return next(iter(held), None)


def _primitive(name: str, run: Callable[..., Any], shapes: Callable[..., Any], once: Callable[..., int] = lambda names: 0) -> Primitive:
    """run(how, arrays): of NumPy arrays; shapes(how, arrays): of the results. once(names): of so many first arrays no copies are
    made where vmap runs over none of them: they get an axis of length 1."""
    made = Primitive(f"tangere_{name}")
    made.multiple_results = True

    def numpy(how, arrays):
        return tuple(np.asarray(x).astype(s.dtype) for x, s in zip(run(how, [np.asarray(a) for a in arrays]), shapes(how, arrays)))

    def lowered(*arrays, **how):
        return jax.pure_callback(lambda *a: numpy(how, a), shapes(how, arrays), *arrays)

    def batched(arrays, dims, **how):
        size = next(x.shape[d] for x, d in zip(arrays, dims) if d is not None)
        n = once(how["names"])
        few = 1 if all(d is None for d in dims[:n]) else size
        out = made.bind(*(_in_front(x, d, few if i < n else size) for i, (x, d) in enumerate(zip(arrays, dims))), **how)
        return out, (0,) * len(out)

    def here(*arrays, **how):
        return [jax.device_put(x, _device(arrays)) for x in numpy(how, arrays)]

    made.def_impl(here)
    made.def_abstract_eval(lambda *arrays, **how: [jax.core.ShapedArray(s.shape, s.dtype) for s in shapes(how, arrays)])
    mlir.register_lowering(made, mlir.lower_fun(lowered, multiple_results=True))
    batching.primitive_batchers[made] = batched
    return made


def _named(how, arrays):
    return dict(zip(how["names"], arrays))


def _split(how, arrays):
    """(q0, v0, u, parameters) and the directions of them, which follow."""
    n = 3 + len(how["names"])
    return list(arrays[:n]), list(arrays[n:])


def _types(arrays):
    return tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays)


def _motion(how, at, lead):
    model, steps = how["batch"].model, at[2].shape[-2]
    return tuple(jax.ShapeDtypeStruct(lead + (steps + 1, n), at[0].dtype) for n in (model.nq, model.nv + model.na))


def _do_run(how, at):
    return _lanes.forward(how["batch"], *at[:3], _named(how, at[3:]), how["on_error"])


def _do_rates(how, arrays):
    q, *rest = arrays
    at, along = _split(how, rest)
    return _lanes.rates(how["batch"], *at[:3], _named(how, at[3:]), q, *along[:3], _named(how, along[3:]), how["on_error"])


def _do_adjoint(how, arrays):
    gq, gv, q, *at = arrays
    g = _lanes.adjoint(how["batch"], *at[:3], _named(how, at[3:]), q, gq, gv, how["on_error"])
    return (*g[:3], *(g[3][name] for name in how["names"]))


def _do_hessian(how, arrays):
    gq, gv, q, *rest = arrays
    at, along = _split(how, rest)
    parts = _second.product(how["batch"], *at[:3], _named(how, at[3:]), q, gq, gv, *along[:3], _named(how, along[3:]))
    return (*parts[2:5], *(parts[5][name] for name in how["names"]))


_run = _primitive("run", _do_run, lambda how, at: _motion(how, at, at[0].shape[:-1]))
_rates = _primitive("rates", _do_rates, lambda how, arrays: _motion(how, arrays[1:], arrays[4 + len(how["names"])].shape[:-1]),
                    once=lambda names: 4 + len(names))
_adjoint = _primitive("adjoint", _do_adjoint, lambda how, arrays: _types(arrays[3:]))
_hessian = _primitive("hessian", _do_hessian, lambda how, arrays: _types(_split(how, arrays[3:])[0]))


def _zeros(rates):
    return [ad.instantiate_zeros(r) for r in rates]


def _some(rates):
    return any(type(r) is not ad.Zero for r in rates)


def _run_jvp(at, along, **how):
    q, v = _run.bind(*at, **how)
    return (q, v), _rates.bind(q, *at, *_zeros(along), **how)


def _rates_jvp(arrays, along, **how):
    n = 4 + len(how["names"])   # q, at
    if _some(along[1:n]):
        raise Error("a derivative of forward-mode rates is not there: take reverse mode first (jax.hessian, jacfwd of jacrev)")
    return _rates.bind(*arrays, **how), _rates.bind(*arrays[:n], *_zeros(along[n:]), **how)


def _rates_transpose(weights, q, *arrays, **how):
    at, along = _split(how, arrays)
    like = [x.aval if ad.is_undefined_primal(x) else x for x in along]
    # what vmap left with axes of length 1 gets the directions' shapes
    lead = like[0].shape[:-1]
    at = [jnp.broadcast_to(x, d.shape) for x, d in zip(at, like)]
    q = jnp.broadcast_to(q, lead + q.shape[len(lead):])
    grad = _adjoint.bind(*_zeros(weights), q, *at, **how)
    return [None] * (1 + len(at)) + [g if ad.is_undefined_primal(x) else None for g, x in zip(grad, along)]


def _adjoint_jvp(arrays, along, **how):
    gq, gv, q, *at = arrays
    out, rates = _adjoint.bind(*arrays, **how), []
    if _some(along[:2]):
        rates.append(_adjoint.bind(*_zeros(along[:2]), q, *at, **how))
    if _some(along[3:]):
        rates.append(_hessian.bind(*arrays, *_zeros(along[3:]), **how))
    return out, [sum(parts) for parts in zip(*rates)] if rates else [ad.Zero.from_primal_value(x) for x in out]


def _adjoint_transpose(along, gq, gv, q, *at, **how):
    out = _rates.bind(q, *at, *_zeros(along), **how)
    return [r if ad.is_undefined_primal(g) else None for r, g in zip(out, (gq, gv))] + [None] * (1 + len(at))


def _hessian_jvp(arrays, along, **how):
    n = 6 + len(how["names"])
    if _some((*along[:2], *along[3:n])):
        raise Error("third derivatives are not there")
    return _hessian.bind(*arrays, **how), _hessian.bind(*arrays[:n], *_zeros(along[n:]), **how)


def _hessian_transpose(weights, *arrays, **how):
    n = 6 + len(how["names"])
    grad = _hessian.bind(*arrays[:n], *_zeros(weights), **how)
    return [None] * n + [g if ad.is_undefined_primal(x) else None for g, x in zip(grad, arrays[n:])]


for _made, _jvp, _transpose in ((_run, _run_jvp, None), (_rates, _rates_jvp, _rates_transpose),
                                (_adjoint, _adjoint_jvp, _adjoint_transpose), (_hessian, _hessian_jvp, _hessian_transpose)):
    ad.primitive_jvps[_made] = _jvp
    if _transpose is not None:
        ad.primitive_transposes[_made] = _transpose


def _alike(names, arrays):
    """Arrays in the widest floating type of theirs. Refuses complex ones by name."""
    arrays = [jnp.asarray(x) for x in arrays]
    for name, x in zip(names, arrays):
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise TypeError(f"{name}: an array of real numbers is needed, not one of {x.dtype}")
    floating = [x.dtype for x in arrays if jnp.issubdtype(x.dtype, jnp.floating)]
    dtype = jnp.result_type(*floating) if floating else jnp.result_type(float)
    return [x.astype(dtype) for x in arrays]


def rollout(batch: Batch, q0: Any, v0: Any, u: Any, params: dict[str, Any] | None = None,
            on_error: str = "raise") -> tuple[jax.Array, jax.Array]:
    """Trajectory (q, v), (..., steps + 1, nq) and (..., steps + 1, nv + na), of q0 (..., nq),
    v0 (..., nv + na) and controls u (..., steps, nu), whose leading axes broadcast.

    params: parameters by name, of their own shape for all trajectories or with leading axes; they are differentiated too."""
    params = params or {}
    names = tuple(params)
    q0, v0, u, *values = _alike(("q0", "v0", "u", *names), (q0, v0, u, *params.values()))
    lead = _lanes.common(q0.shape[:-1], v0.shape[:-1], u.shape[:-2])
    q0, v0, u = (jnp.broadcast_to(x, lead + x.shape[x.ndim - tail:]) for x, tail in ((q0, 1), (v0, 1), (u, 2)))
    q, v = _run.bind(q0, v0, u, *values, batch=batch, on_error=on_error, names=names)
    return q, v


def step(batch: Batch, q: Any, v: Any, u: Any, params: dict[str, Any] | None = None,
         on_error: str = "raise") -> tuple[jax.Array, jax.Array]:
    """(q', v') one step later; u (..., nu)."""
    Q, V = rollout(batch, q, v, jnp.asarray(u)[..., None, :], params, on_error)
    return Q[..., 1, :], V[..., 1, :]
