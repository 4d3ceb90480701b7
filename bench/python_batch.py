#!/usr/bin/env python3
"""Batches of humanoid trajectories with gradients over one and two threads: build/venv/bin/python bench/python_batch.py [ROLLOUTS [STEPS [REPEATS]]]

Both in turn in one run, so that what else the machine does meets both; the ratio of the least times, and the share of a core that each had. Ends with 1 where the
two differ in a bit."""
import pathlib
import resource
import sys
import time

import numpy as np
import tangere as tg

ROLLOUTS, STEPS, REPEATS = (int(a) for a in (sys.argv[1:] + ["256", "100", "3"][len(sys.argv) - 1:]))
model = tg.load(pathlib.Path(__file__).resolve().parent.parent / "models" / "humanoid33.xml")
rng = np.random.default_rng(0)
q0 = np.tile(model.field("qpos0"), (ROLLOUTS, 1))
for i in range(ROLLOUTS):
    q0[i] = model.integrate(q0[i], 0.05 * rng.standard_normal(model.nv))
v0 = 0.1 * rng.standard_normal((ROLLOUTS, model.nv))
u = 0.3 * rng.standard_normal((ROLLOUTS, STEPS, model.nu))
weight = rng.standard_normal((ROLLOUTS, model.nv))


def cpu():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def run(batch):
    began, before = time.perf_counter(), cpu()
    grads = batch.vjp(q0, v0, u, weight, weight)
    wall = time.perf_counter() - began
    assert all(grads.ok), next(e for e in grads.error if e)
    return wall, (cpu() - before) / wall, grads


batches = {n: tg.Batch(model, contact="lcp", dt=0.005, threads=n) for n in (1, 2)}
least, result = {1: np.inf, 2: np.inf}, {}
for repeat in range(REPEATS):
    line = []
    for n, batch in batches.items():
        wall, cores, result[n] = run(batch)
        least[n] = min(least[n], wall)
        line.append(f"{n} thread{'s' if n > 1 else ''} {wall:.2f} s on {cores:.2f} cores")
    print("  " + ", ".join(line), flush=True)
same = all(np.array_equal(getattr(result[1], name), getattr(result[2], name)) for name in ("q0", "v0", "u"))
print(f"{ROLLOUTS} rollouts of {STEPS} steps with gradients, {model.nv} dofs: {least[1]:.2f} s on one thread, {least[2]:.2f} s on two: {least[1] / least[2]:.2f} times; "
      f"{'the same bits' if same else 'DIFFERENT BITS'}")
sys.exit(0 if same else 1)
