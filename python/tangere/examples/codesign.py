"""The length of an arm and its torques together, so that its tip comes to a point that the arm as built does not reach."""

from __future__ import annotations

import pathlib

import numpy as np
from scipy.optimize import minimize

import tangere as tg

from . import leave

ARM = """<mujoco><option gravity="0 0 0"/><worldbody><body name="upper"><joint name="shoulder" axis="0 0 1" damping="0.5"/>
<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03"/><body name="lower" pos="0.5 0 0"><joint name="elbow" axis="0 0 1" damping="0.5"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
<body name="tip" pos="0.4 0 0"><geom size="0.04" mass="0.2"/></body></body></body></worldbody>
<actuator><motor joint="shoulder"/><motor joint="elbow"/></actuator></mujoco>"""
GOAL = np.array([0.3, 1.0, 0.0])
STEPS = 60


def main(out: pathlib.Path) -> dict[str, float]:
    model = tg.loads(ARM)
    sim = tg.Sim(model, contact=None, dt=0.02)
    tip = model.find("body", "tip")
    place = model.field("body_pos").copy()

    def reach(x: np.ndarray) -> tg.Rollout:
        place[tip, 0] = x[-1]
        sim.set_param("body_pos", place)
        return sim.rollout(x[:-1].reshape(STEPS, 2))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        u, roll = x[:-1].reshape(STEPS, 2), reach(x)
        sim.qpos[:] = roll.q[-1]
        sim.forward()
        miss = sim.field("xpos")[tip] - GOAL
        slope = sim.body_jacobian("tip")[3:].T @ (2 * miss)              # of the end's position in its joint angles
        along = sim.field("xmat").reshape(-1, 3, 3)[model.find("body", "lower")][:, 0]
        sim.reset()
        g = roll.backward(dq=slope, params=["body_pos"])
        direct = 2 * miss @ along                                        # and in the length itself, angles held
        effort = 1e-6 * np.sum(u * u)
        return float(miss @ miss + effort), np.append(g.u + 2e-6 * u, g.params["body_pos"][tip, 0] + direct)

    x0 = np.append(np.full(2 * STEPS, 0.05), 0.4)
    found = minimize(loss, x0, jac=True, bounds=[(-5, 5)] * (2 * STEPS) + [(0.2, 0.8)], method="L-BFGS-B", options={"maxiter": 200})
    fixed = minimize(loss, x0, jac=True, bounds=[(-5, 5)] * (2 * STEPS) + [(0.4, 0.4)], method="L-BFGS-B", options={"maxiter": 200})
    print(f"lower arm {found.x[-1]:.3f} m (0.4 m as built): loss {found.fun:.2e}; with the arm as it is {fixed.fun:.2e}")
    leave(out / "codesign.html", reach(found.x))
    return {"length": float(found.x[-1]), "loss": float(found.fun), "fixed": float(fixed.fun)}
