#!/usr/bin/env python3
"""The gradient of a tossed cube by several contact models, at its own states and at those of others, against mean slopes.

usage: build/venv/bin/python bench/toss.py [THROWS]      (20)

A cube of 10 cm falls turning on a plane and slides: x after 0.8 s by its forward and upward velocity at first. A mean slope is that between
velocities 0.05 m/s to both sides of the forward model's own motion. A row: the median and the largest over the throws of the gradient's
distance from the mean slopes, over their size, and in how many throws a component has the wrong sign; a throw whose gradient fails stands in
the last column and in none of the others.
"""
import sys

import numpy as np
import tangere

CUBE = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1" friction=".4"/>
  <body pos="0 0 .35" euler="10 20 30"><freejoint/><geom type="box" size=".05 .05 .05" density="1000" friction=".4"/></body>
  </worldbody></mujoco>"""
STEPS, HALF = 160, 0.05
SOFT = {"resting_gap": 0.005}
ROWS = [("lcp", None, {}), ("lcp", "damped", {}), ("lcp", "damped", SOFT), ("lcp", "softmin", {}), ("toi", None, {}),
        ("toi", "damped", {}), ("toi", "damped", SOFT), ("damped", None, {}), ("damped", None, SOFT)]


def throw(model, contact, velocity, gradient=None, options={}, back=False):
    sim = tangere.Sim(model, contact=contact, **({} if gradient else options))
    rollout = sim.rollout(steps=STEPS, v0=np.r_[velocity, 1, 2, 0.5], gradient=gradient, gradient_options=options if gradient else None)
    if not back:
        return rollout.q[-1][0]
    try:
        return rollout.backward(dq=np.eye(6)[0]).v0[[0, 2]]
    except tangere.Error:
        return None


def slopes(model, contact, velocity, options):
    def end(at):
        return throw(model, contact, at, None, options)
    return np.array([(end(velocity + step) - end(velocity - step)) / (2 * HALF) for step in HALF * np.eye(3)[[0, 2]]])


def main():
    model, random = tangere.loads(CUBE), np.random.default_rng(1)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    throws = [np.array([1 + 0.3 * random.normal(), 0, 0.2 * random.normal()]) for _ in range(count)]
    print("| motion | gradient | median error | largest | wrong signs | none |\n|---|---|---|---|---|---|")
    for contact, by, options in ROWS:
        mean = [slopes(model, contact, v, {} if by else options) for v in throws]
        found = [(throw(model, contact, v, by, options, True), s) for v, s in zip(throws, mean)]
        there = [(g, s) for g, s in found if g is not None]
        error = [np.linalg.norm(g - s) / np.linalg.norm(s) for g, s in there]
        wrong = sum(bool((g * s < 0).any()) for g, s in there)
        said = "".join(f", {name} {value}" for name, value in options.items())
        print(f"| `{contact}` | {f'`{by}`' if by else 'its own'}{said} | {np.median(error):.2g} | {max(error):.2g} | {wrong} of {count} | "
              f"{count - len(there)} |")


if __name__ == "__main__":
    main()
