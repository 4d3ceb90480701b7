"""Steps and trajectories as PyTorch functions, with first derivatives, and second ones under `softmin`.

    batch = tg.Batch(model, contact="lcp", dt=0.01)
    q, v = tangere.torch.rollout(batch, q0, v0, u)         # q0 (..., nq), v0 (..., nv + na), u (..., steps, nu)
    loss(q, v).backward()

Positions are differentiated entry by entry (nq); quaternions are normalised first. The engine computes in float64 on
the CPU; tensors of another type or device are converted on the way in and out. A trajectory that fails raises
tangere.Error, or is NaN with on_error="nan".
"""

from __future__ import annotations

import torch

from . import _lanes, _second
from ._tangere import Batch


def _numpy(tensor):
    return tensor.detach().to("cpu", torch.float64).numpy()


def _tensor(array, like):
    return torch.from_numpy(array).to(like.device, like.dtype)


class _Rollout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, batch, on_error, names, q0, v0, u, *params):
        values = dict(zip(names, (_numpy(p) for p in params)))
        q, v = _lanes.forward(batch, _numpy(q0), _numpy(v0), _numpy(u), values, on_error)
        ctx.batch, ctx.on_error, ctx.names, ctx.q = batch, on_error, names, q
        ctx.save_for_backward(q0, v0, u, *params)
        return _tensor(q, q0), _tensor(v, q0)

    @staticmethod
    def backward(ctx, gq, gv):
        q0, v0, u, *params = ctx.saved_tensors
        g = _Adjoint.apply(ctx.batch, ctx.on_error, ctx.names, ctx.q, gq, gv, q0, v0, u, *params)
        return (None, None, None, *g)


class _Adjoint(torch.autograd.Function):
    """The gradient of <gq, q> + <gv, v>, itself differentiable in the weights, the start, the controls and the
    parameters where the step is so twice."""

    @staticmethod
    def forward(ctx, batch, on_error, names, q, gq, gv, q0, v0, u, *params):
        values = dict(zip(names, (_numpy(p) for p in params)))
        g = _lanes.adjoint(batch, _numpy(q0), _numpy(v0), _numpy(u), values, q, _numpy(gq), _numpy(gv), on_error)
        ctx.batch, ctx.names, ctx.q = batch, names, q
        ctx.save_for_backward(gq, gv, q0, v0, u, *params)
        return (_tensor(g[0], q0), _tensor(g[1], v0), _tensor(g[2], u), *(_tensor(g[3][n], p) for n, p in zip(names, params)))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dq0, dv0, du, *dparams):
        gq, gv, q0, v0, u, *params = ctx.saved_tensors
        values, along = (dict(zip(ctx.names, map(_numpy, x))) for x in (params, dparams))
        *rates, bent = _second.product(ctx.batch, *(_numpy(x) for x in (q0, v0, u)), values, ctx.q,
                                       *(_numpy(x) for x in (gq, gv, dq0, dv0, du)), along)
        return (None, None, None, None, *(_tensor(r, like) for r, like in zip(rates, (gq, gv, q0, v0, u))),
                *(_tensor(bent[n], p) for n, p in zip(ctx.names, params)))


def rollout(batch: Batch, q0: torch.Tensor, v0: torch.Tensor, u: torch.Tensor, params: dict[str, torch.Tensor] | None = None,
            on_error: str = "raise") -> tuple[torch.Tensor, torch.Tensor]:
    """Trajectory (q, v), (..., steps + 1, nq) and (..., steps + 1, nv + na), of q0 (..., nq),
    v0 (..., nv + na) and controls u (..., steps, nu).

    params: parameters by name, of their own shape for all trajectories or with leading axes; they are differentiated too."""
    params = params or {}
    return _Rollout.apply(batch, on_error, tuple(params), q0, v0, u, *params.values())


def step(batch: Batch, q: torch.Tensor, v: torch.Tensor, u: torch.Tensor, params: dict[str, torch.Tensor] | None = None,
         on_error: str = "raise") -> tuple[torch.Tensor, torch.Tensor]:
    """(q', v') one step later; u (..., nu)."""
    Q, V = rollout(batch, q, v, u.unsqueeze(-2), params, on_error)
    return Q[..., 1, :], V[..., 1, :]
