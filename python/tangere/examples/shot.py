"""A ball is shot at another that must reach a place: the gradient is felt before they touch (`barrier`, SciPy)."""

from __future__ import annotations

import pathlib

import numpy as np
from scipy.optimize import minimize

import tangere as tg

from . import leave

BALL = ('<body name="{name}" pos="{pos}"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'
        '<geom type="sphere" size="0.1" mass="1" friction="0"/></body>')
SCENE = ('<mujoco><option gravity="0 0 0"/><worldbody>' + BALL.format(name="cue", pos="0 0 0") +
         BALL.format(name="target", pos="1 0.05 0") +
         "</worldbody></mujoco>")
GOAL = np.array([1.5, 0.4])
START = np.array([1.0, 0.05])   # of the target; its coordinates are displacements


def main(out: pathlib.Path) -> dict[str, float]:
    sim = tg.Sim(tg.loads(SCENE), contact="barrier", dt=0.02, weight=1e-5)

    def shoot(v: np.ndarray) -> tg.Rollout:
        return sim.rollout(steps=100, v0=np.array([v[0], v[1], 0.0, 0.0]))

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        roll = shoot(v)
        miss = START + roll.q[-1, 2:] - GOAL
        g = roll.backward(dq=np.array([0.0, 0.0, 2 * miss[0], 2 * miss[1]]))
        return float(miss @ miss), g.v0[:2].copy()

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="BFGS", options={"maxiter": 60})
    miss = float(np.sqrt(found.fun))
    print(f"velocity of the cue ball {found.x[0]:.3f}, {found.x[1]:.3f} m/s: the other ends {1000 * miss:.2f} mm from "
          f"its place, after {found.nfev} trajectories")
    leave(out / "shot.html", shoot(found.x))
    return {"miss": miss}
