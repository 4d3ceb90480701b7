"""The charts of a model's positions: rates of entries (nq) and of tangents (nv), and how both maps bend."""

import numpy as np


def _multiply(p, r):
    """Product of quaternions, arrays (..., 4)."""
    pw, pv, rw, rv = p[..., :1], p[..., 1:], r[..., :1], r[..., 1:]
    return np.concatenate([pw * rw - np.sum(pv * rv, -1, keepdims=True), pw * rv + rw * pv + np.cross(pv, rv)], -1)


def _conjugate(p):
    return p * np.array([1.0, -1.0, -1.0, -1.0])


class Layout:
    """Where the quaternions of a model are: slices of qpos and of qvel; the other entries are their own tangents."""

    def __init__(self, model):
        kind, qadr, vadr = (model.field(f"jnt_{name}").ravel() for name in ("type", "qadr", "vadr"))
        skip = {0: 3, 1: 0}   # free: behind the position; ball
        self.turns = [(slice(a + skip[k], a + skip[k] + 4), slice(d + skip[k], d + skip[k] + 3))
                      for k, a, d in zip(kind, qadr, vadr) if k in skip]
        plain = [(a + i, d + i) for k, a, d in zip(kind, qadr, vadr) for i in range({0: 3, 1: 0}.get(int(k), 1))]
        self.q, self.v = [a for a, _ in plain], [d for _, d in plain]
        self.nq, self.nv = model.nq, model.nv

    def entries(self, q, w):
        """Rates (..., nq) of the entries of unit q for rates w (..., nv) of the tangent."""
        out = np.zeros(w.shape[:-1] + (self.nq,))
        out[..., self.q] = w[..., self.v]
        for a, d in self.turns:
            turn = np.concatenate([np.zeros_like(w[..., :1]), w[..., d] / 2], -1)
            out[..., a] = _multiply(q[..., a], turn)
        return out

    def tangent(self, x, dx):
        """Rates (..., nv) of the tangent for rates dx of the entries of x, which need not be of unit length."""
        out = np.zeros(dx.shape[:-1] + (self.nv,))
        out[..., self.v] = dx[..., self.q]
        for a, d in self.turns:
            out[..., d] = 2 * self._ratio(x[..., a], dx[..., a])[..., 1:]
        return out

    @staticmethod
    def _ratio(x, dx):
        """(a, b) of the change dx of x."""
        return _multiply(_conjugate(x), dx) / np.sum(x * x, -1, keepdims=True)

    def bend_in(self, x, dx, p):
        """Second derivative of the chart's coordinate along dx, in the entries of x, weighed by p (..., nv)."""
        out = np.zeros_like(x)
        for a, d in self.turns:
            rate, w = self._ratio(x[..., a], dx[..., a]), p[..., d]
            pair = np.concatenate([np.sum(w * rate[..., 1:], -1, keepdims=True), rate[..., :1] * w], -1)
            out[..., a] = -2 * _multiply(x[..., a], pair) / np.sum(x[..., a] ** 2, -1, keepdims=True)
        return out

    def bend_out(self, q, g, w):
        """Second derivative along w (..., nv) of the entries of q, weighed by g (..., nq)."""
        out = np.zeros_like(w)
        for a, d in self.turns:
            out[..., d] = -0.25 * np.sum(g[..., a] * q[..., a], -1, keepdims=True) * w[..., d]
        return out
