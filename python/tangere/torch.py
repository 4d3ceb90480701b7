"""Steps and trajectories as PyTorch functions, with first derivatives in both directions, and second ones under `softmin`, `damped`
and `toi`.

    batch = tg.Batch(model, contact="lcp", dt=0.01)
    q, v = tangere.torch.rollout(batch, q0, v0, u)         # q0 (..., nq), v0 (..., nv + na), u (..., steps, nu)
    loss(q, v).backward()

torch.func works on them: grad, vjp, jacrev, jvp, jacfwd, hessian, and vmap, which makes one batch of what it maps over.
Positions are differentiated entry by entry (nq); quaternions are normalised first. The engine computes in float64 on
the CPU, wherever the tensors are: the trajectory is of the widest type of the arguments and on their device, which they
share; each gradient is of the type of its own tensor. A trajectory that fails raises tangere.Error, or is NaN with
on_error="nan". torch.compile makes a graph before and one after each call.
"""

from __future__ import annotations

import functools

import torch

from . import _lanes, _second
from ._errors import Error
from ._tangere import Batch


def _numpy(tensor):
    return tensor.to("cpu", torch.float64).numpy(force=True)


def _tensor(array, like):
    return torch.from_numpy(array).to(like.device, like.dtype)


def _arrays(tensors):
    return [_numpy(t) for t in tensors]


def _named(names, tensors):
    return dict(zip(names, _arrays(tensors)))


def _rows(size, tensors, dims):
    """Tensors with vmap's axis in front, repeated where it does not run over one."""
    return [t.movedim(dim, 0) if dim is not None else t.expand(size, *t.shape) for t, dim in zip(tensors, dims)]


def _alike(names, tensors):
    """Tensors in the widest floating type of theirs, the first being q0. Refuses by name what has no values here."""
    first = tensors[0]
    for name, x in zip(names, tensors):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: a torch.Tensor is needed, not {type(x).__name__}")
        if x.is_complex() or x.layout != torch.strided:
            raise TypeError(f"{name}: a dense tensor of real numbers is needed, not one of {x.dtype}, {x.layout}")
        if x.is_meta:
            raise ValueError(f"{name}: is on the device meta, where tensors have no values")
        if x.device != first.device:
            raise ValueError(f"{name}: is on the device {x.device}, q0 on {first.device}; all are needed on one")
    floating = [x.dtype for x in tensors if x.is_floating_point()]
    dtype = functools.reduce(torch.promote_types, floating) if floating else torch.get_default_dtype()
    return [x.to(dtype) for x in tensors]


# Functions of (batch, on_error, names, tensors...), of which each is made of the others: the motion, its rates along a direction (linear in
# it), the gradient of <gq, q> + <gv, v> (linear in gq, gv, and the transpose of the rates), and that gradient's rates.
class _Function(torch.autograd.Function):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.how = inputs[:3]
        ctx.save_for_backward(*inputs[3:])
        ctx.save_for_forward(*inputs[3:])

    @classmethod
    def vmap(cls, info, dims, batch, on_error, names, *tensors):
        out = cls.apply(batch, on_error, names, *_rows(info.batch_size, tensors, dims[3:]))
        return out, (0,) * len(out)


class _Rollout(_Function):
    @staticmethod
    def forward(batch, on_error, names, q0, v0, u, *params):
        q, v = _lanes.forward(batch, *_arrays((q0, v0, u)), _named(names, params), on_error)
        return _tensor(q, q0), _tensor(v, q0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.how = inputs[:3]
        ctx.save_for_backward(*inputs[3:], output[0])
        ctx.save_for_forward(*inputs[3:], output[0])

    @staticmethod
    def backward(ctx, gq, gv):
        *at, q = ctx.saved_tensors
        return (None, None, None, *_Adjoint.apply(*ctx.how, gq, gv, q, *at))

    @staticmethod
    def jvp(ctx, _batch, _on_error, _names, *along):
        *at, q = ctx.saved_tensors
        return _Rates.apply(*ctx.how, q, *at, *(torch.zeros_like(x) if d is None else d for x, d in zip(at, along)))


def _split(names, tensors):
    """(q0, v0, u, parameters) and the directions of them, which follow."""
    n = 3 + len(names)
    return tensors[:n], tensors[n:]


_NO_RATES_OF_RATES = "a derivative of forward-mode rates is not there: take reverse mode first (torch.func.hessian, jacfwd of jacrev)"


class _Rates(_Function):
    """Rates of (q, v) along a direction: forward mode."""

    @staticmethod
    def forward(batch, on_error, names, q, *tensors):
        at, along = _split(names, tensors)
        dq, dv = _lanes.rates(batch, *_arrays(at[:3]), _named(names, at[3:]), _numpy(q), *_arrays(along[:3]), _named(names, along[3:]),
                              on_error)
        return _tensor(dq, at[0]), _tensor(dv, at[0])

    @staticmethod
    def backward(ctx, gq, gv):
        q, *tensors = ctx.saved_tensors
        at, _ = _split(ctx.how[2], tensors)
        if any(ctx.needs_input_grad[4:4 + len(at)]):
            raise Error(_NO_RATES_OF_RATES)
        return (*(None,) * (4 + len(at)), *_Adjoint.apply(*ctx.how, gq, gv, q, *at))

    @staticmethod
    def jvp(ctx, _batch, _on_error, _names, _q, *rates):
        q, *tensors = ctx.saved_tensors
        at, along = _split(ctx.how[2], tensors)
        _, more = _split(ctx.how[2], rates)
        if any(r is not None for r in rates[:len(at)]):
            raise Error(_NO_RATES_OF_RATES)
        return _Rates.apply(*ctx.how, q, *at, *(torch.zeros_like(d) if m is None else m for d, m in zip(along, more)))


class _Adjoint(_Function):
    """The gradient of <gq, q> + <gv, v>, itself differentiable in the weights, and in the start, the controls and the
    parameters where the step is so twice. q is a function of the others: what it changes is in the product with the Hessian already."""

    @staticmethod
    def forward(batch, on_error, names, gq, gv, q, *at):
        g = _lanes.adjoint(batch, *_arrays(at[:3]), _named(names, at[3:]), *_arrays((q, gq, gv)), on_error)
        return tuple(_tensor(part, like) for part, like in zip((*g[:3], *(g[3][n] for n in names)), at))

    @staticmethod
    def backward(ctx, *along):
        gq, gv, q, *at = ctx.saved_tensors
        if any(ctx.needs_input_grad[6:]):
            dq, dv, *bent = _Product.apply(*ctx.how, gq, gv, q, *at, *along)
        else:
            (dq, dv), bent = _Rates.apply(*ctx.how, q, *at, *along), [None] * len(at)
        return (None, None, None, dq, dv, None, *bent)

    @staticmethod
    def jvp(ctx, _batch, _on_error, _names, dgq, dgv, _q, *along):
        gq, gv, q, *at = ctx.saved_tensors
        out = [torch.zeros_like(x) for x in at]
        if dgq is not None or dgv is not None:
            weights = (torch.zeros_like(g) if d is None else d for g, d in ((gq, dgq), (gv, dgv)))
            out = [a + b for a, b in zip(out, _Adjoint.apply(*ctx.how, *weights, q, *at))]
        if any(d is not None for d in along):
            bent = _Product.apply(*ctx.how, gq, gv, q, *at, *(torch.zeros_like(x) if d is None else d for x, d in zip(at, along)))[2:]
            out = [a + b for a, b in zip(out, bent)]
        return tuple(out)


class _Product(_Function):
    """Rates of (q, v) along a direction, and the product of that direction with the Hessian of <gq, q> + <gv, v>."""

    @staticmethod
    def forward(batch, on_error, names, gq, gv, q, *tensors):
        at, along = _split(names, tensors)
        *parts, bent = _second.product(batch, *_arrays(at[:3]), _named(names, at[3:]), *_arrays((q, gq, gv)), *_arrays(along[:3]),
                                       _named(names, along[3:]))
        return tuple(_tensor(part, like) for part, like in zip((*parts, *(bent[n] for n in names)), (gq, gv, *at)))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *_):
        raise Error("third derivatives are not there")

    @staticmethod
    def jvp(ctx, *_):
        raise Error("third derivatives are not there")


def rollout(batch: Batch, q0: torch.Tensor, v0: torch.Tensor, u: torch.Tensor, params: dict[str, torch.Tensor] | None = None,
            on_error: str = "raise") -> tuple[torch.Tensor, torch.Tensor]:
    """Trajectory (q, v), (..., steps + 1, nq) and (..., steps + 1, nv + na), of q0 (..., nq),
    v0 (..., nv + na) and controls u (..., steps, nu), whose leading axes broadcast.

    params: parameters by name, of their own shape for all trajectories or with leading axes; they are differentiated too.
    All tensors lie on one device."""
    params = params or {}
    names = tuple(params)
    q0, v0, u, *values = _alike(("q0", "v0", "u", *names), (q0, v0, u, *params.values()))
    lead = _lanes.common(q0.shape[:-1], v0.shape[:-1], u.shape[:-2])
    q0, v0, u = (x.expand(*lead, *x.shape[x.ndim - tail:]) for x, tail in ((q0, 1), (v0, 1), (u, 2)))
    return _Rollout.apply(batch, on_error, names, q0, v0, u, *values)


def step(batch: Batch, q: torch.Tensor, v: torch.Tensor, u: torch.Tensor, params: dict[str, torch.Tensor] | None = None,
         on_error: str = "raise") -> tuple[torch.Tensor, torch.Tensor]:
    """(q', v') one step later; u (..., nu)."""
    Q, V = rollout(batch, q, v, u[..., None, :], params, on_error)
    return Q[..., 1, :], V[..., 1, :]
