#!/usr/bin/env python3
"""What a step costs from Python over the same step in C: build/venv/bin/python bench/python_step.py [MODEL]

C: `tangere bench step` runs the step alone; here the same model, contact model and step size, N steps from rest, and the same N steps as one rollout (one call, so no
border between steps). The difference of the two loops is the border."""
import pathlib
import sys
import time

import numpy as np
import tangere as tg

path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "models" / "half_cheetah.xml"
model = tg.load(path)
sim = tg.Sim(model, contact="lcp", dt=0.01)
u, n = np.zeros(model.nu), 20000


def least(run, times=5):
    spent = []
    for _ in range(times):
        sim.reset()
        began = time.perf_counter()
        run()
        spent.append(time.perf_counter() - began)
    return min(spent) / n * 1e6


def loop():
    for _ in range(n):
        sim.step(u)


one_call, calls = least(lambda: sim.rollout(steps=n)), least(loop)
print(f"{path}: {calls:.2f} us a step in a loop of calls, {one_call:.2f} us in one rollout: the border costs {calls - one_call:.2f} us")
