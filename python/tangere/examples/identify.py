"""Mass and friction of a block from a motion that was recorded, by gradient through friction."""

from __future__ import annotations

import pathlib

import numpy as np
from scipy.optimize import minimize

import tangere as tg

from . import MODELS, leave

TRUTH = np.array([1.7, 0.31])


def main(out: pathlib.Path) -> dict[str, float]:
    model = tg.load(MODELS / "slide_block.xml")
    body, geom = model.find("body", "block"), model.find("geom", "block")
    sim = tg.Sim(model, contact="lcp", dt=model.timestep)
    start = model.field("qpos0").copy()
    start[model.joint("x").qadr] = 0.6

    def set_both(x: np.ndarray) -> None:
        mass, friction = sim.param("body_mass").copy(), sim.param("geom_friction").copy()
        mass[body], friction[geom] = x
        sim.set_param("body_mass", mass)
        sim.set_param("geom_friction", friction)

    set_both(TRUTH)
    recorded = sim.rollout(steps=80, q0=start).q

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        set_both(x)
        roll = sim.rollout(steps=80, q0=start)
        miss = roll.q - recorded
        g = roll.backward(dq=2 * miss, params=["body_mass", "geom_friction"])
        return float(np.sum(miss * miss)), np.array([g.params["body_mass"][body], np.ravel(g.params["geom_friction"][geom])[0]])

    found = minimize(loss, np.array([1.0, 0.5]), jac=True, bounds=[(0.1, 10), (0.05, 2)], method="L-BFGS-B",
                     options={"ftol": 1e-18, "gtol": 1e-12})
    print(f"mass {found.x[0]:.6f} kg (truth {TRUTH[0]}), friction {found.x[1]:.6f} (truth {TRUTH[1]}), after {found.nfev} trajectories")
    set_both(found.x)
    leave(out / "identify.html", sim.rollout(steps=80, q0=start))
    return {"mass": float(found.x[0]), "friction": float(found.x[1])}
