"""Mass and friction of a block from noisy measurements, with error bars, against forty draws of the noise."""

from __future__ import annotations

import pathlib

import numpy as np

import tangere as tg
from tangere import identify

from . import MODELS, leave

TRUTH, NOISE, DRAWS = (1.7, 0.31), 2e-3, 40


def main(out: pathlib.Path) -> dict[str, float]:
    model = tg.load(MODELS / "slide_block.xml")
    sim = tg.Sim(model, contact="lcp", dt=model.timestep)
    mass, friction = sim.param("body_mass").copy(), sim.param("geom_friction").copy()
    mass[model.find("body", "block")], friction[model.find("geom", "block")] = TRUTH
    sim.set_param("body_mass", mass)
    sim.set_param("geom_friction", friction)
    start = model.field("qpos0").copy()
    start[model.joint("x").qadr] = 0.6
    motion, rng = sim.rollout(steps=60, q0=start).q, np.random.default_rng(0)
    rows = [{"name": "body_mass", "of": "block", "start": 1.0}, {"name": "geom_friction", "of": "block", "start": 0.5}]
    fits = [identify.fit(sim, start, None, motion + NOISE * rng.standard_normal(motion.shape), rows) for _ in range(DRAWS)]
    print(f"one measurement, its noise of {1000 * NOISE:g} mm estimated with it:")
    print("\n".join("  " + line for line in str(fits[0]).split("\n")))
    spread = np.std([f.values for f in fits], axis=0, ddof=1)
    bars = np.mean([f.std for f in fits], axis=0)
    for label, a, b in zip(fits[0].labels, bars, spread):
        print(f"{label}: error bar {a:.2e}, spread of {DRAWS} draws {b:.2e}")
    leave(out / "error_bars.html", sim.rollout(steps=60, q0=start))
    return {"mass": float(spread[0] / bars[0]), "friction": float(spread[1] / bars[1])}
