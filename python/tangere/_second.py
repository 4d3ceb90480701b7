"""Second derivatives for tangere.jax and tangere.torch: the engine's, in exponential charts, carried to positions entry by entry.

A trajectory y(x) of x = (q0, v0, u, parameters) is entered through quaternions that are normalised first and left
through their entries. Both maps bend: with x0 = |x0| s, x0 + d = |x0| s (1 + a, b), the chart's coordinate is
2 b (1 - a) + ..., and s exp(w) = s (1 - |w|^2/8, w/2) + ..., so that the product with a Hessian has a term of each
beside the engine's own.
"""

import numpy as np

from . import _tangere
from ._lanes import Fixed, _axes, _inputs, _params, _rows, shared
from ._layout import Layout


def _keep(sim, names):
    """The sim's own values of parameters, to be put back."""
    return {name: sim.param(name).copy() for name in names}


def _set(sim, rows, lane):
    for name, value in rows.items():
        sim.set_param(name, value[lane])


def product(batch, q0, v0, u, params, q, gq, gv, dq0, dv0, du, dparams):
    """Along (dq0, dv0, du, dparams): rates (q, v) of the trajectory, and the product with the Hessian of <gq, q> + <gv,
    v>, rows (q0, v0, u) and by name those of the parameters. All entry by entry; parameters are their own charts."""
    model = batch.model
    layout = Layout(model)
    lead, x0, v0, u = _inputs(q0, v0, u)
    (_, q), (_, gq), (_, gv), (_, du) = (_rows(a, 2) for a in (q, gq, gv, du))
    (_, dx0), (_, dv0) = (_rows(a, 1) for a in (dq0, dv0))
    axes = _axes(batch, params)
    rows, drows = _params(params, axes, lead), _params(dparams, axes, lead)
    start, along, weight = _tangere.normalize(model, x0), layout.tangent(x0, dx0), _tangere.to_tangent(model, q, gq)
    sim = batch._sim
    rates, hessian = (np.zeros_like(weight), np.zeros_like(gv)), (np.zeros_like(along), np.zeros_like(dv0), np.zeros_like(du))
    fixed = batch.fixed if isinstance(batch, Fixed) else {}
    hparams, own = {name: np.zeros_like(value) for name, value in rows.items()}, _keep(sim, [*rows, *fixed])
    try:
        for i in range(len(x0)):
            _set(sim, fixed | rows, i)
            p = sim.rollout_hvp(u[i], gq=weight[i], gv=gv[i], q0=start[i], v0=v0[i], dq0=along[i], dv0=dv0[i], du=du[i],
                                dp={name: d[i] for name, d in drows.items()})
            for to, part in zip((*rates, *hessian), (p.q, p.v, p.q0, p.v0, p.u)):
                to[i] = part
            for name, to in hparams.items():
                to[i] = p.params[name]
    finally:
        for name, value in own.items():
            sim.set_param(name, value)
    out = _tangere.from_tangent(model, x0, hessian[0])
    if layout.turns:
        back = batch.vjp(start, v0, u, layout.bend_out(q, gq, rates[0]), np.zeros_like(gv), params=rows, wrt=list(rows))
        slope = batch.vjp(start, v0, u, weight, gv, params=rows).q0
        out += _tangere.from_tangent(model, x0, back.q0) + layout.bend_in(x0, dx0, slope)
        hessian = (hessian[0], hessian[1] + back.v0, hessian[2] + back.u)
        hparams = {name: h + back.params[name] for name, h in hparams.items()}
    parts = (layout.entries(q, rates[0]), rates[1], out, hessian[1], hessian[2])
    return (*(part.reshape(lead + part.shape[1:]) for part in parts), {name: shared(h, params[name], lead) for name, h in hparams.items()})
