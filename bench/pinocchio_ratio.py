#!/usr/bin/env python3
"""Dynamics of chains of hinges, ours against Pinocchio's, in one run on one thread: ns a call and ratio (theirs over ours).

usage: build/venv/bin/python bench/pinocchio_ratio.py [--json]      (after: cmake --build --preset release, with bench on)

Ours are the figures of build/bin/bench_dynamics (C). Theirs are called from Python, so the time of the cheapest call of theirs that takes
the same arguments is taken off (`overhead`). Ours for `rnea` and `rnea_d` include the kinematics, since
theirs do. Their results are compared with ours by test/peer/test_pinocchio.py.
"""
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pinocchio as pin

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = (5, 9, 18, 32)


def chain(n):
    model = pin.Model()
    for i in range(n):
        joint = [pin.JointModelRY, pin.JointModelRZ, pin.JointModelRX][i % 3]()
        place = pin.SE3(np.eye(3), np.array([0.3 if i else 0.0, 0, 0]))
        k = model.addJoint(i, joint, place, f"j{i}")
        model.appendBodyToJoint(k, pin.Inertia(1.0, np.array([0.15, 0, 0]), np.diag([0.002, 0.008, 0.009])), pin.SE3.Identity())
    return model


def ns(function, states):
    """Mean over the states of the least of 15 means of 8 calls, as bench_dynamics does."""
    total = 0.0
    for x in states:
        best = np.inf
        for _ in range(15):
            start = time.perf_counter_ns()
            for _ in range(8):
                function(*x)
            best = min(best, (time.perf_counter_ns() - start) / 8)
        total += best
    return total / len(states)


def theirs(n):
    model = chain(n)
    data = model.createData()
    rng = np.random.default_rng(1)
    qva = [(rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)) for _ in range(64)]
    q_only = [(x[0],) for x in qva]
    # wrapper cost of a call with three vectors that returns one: their generic integration of tiny size is dominated by it
    empty = pin.Model()
    empty_data = empty.createData()
    z = np.zeros(0)
    overhead = ns(lambda q, v, a: pin.rnea(empty, empty_data, z, z, z), qva)
    overhead_q = ns(lambda q: pin.crba(empty, empty_data, z), q_only)
    times = {
        "rnea": ns(lambda q, v, a: pin.rnea(model, data, q, v, a), qva) - overhead,
        "crba": ns(lambda q: pin.crba(model, data, q), q_only) - overhead_q,
        "rnea_d": ns(lambda q, v, a: pin.computeRNEADerivatives(model, data, q, v, a), qva) - overhead,
        "forward_d": ns(lambda q, v, a: pin.computeABADerivatives(model, data, q, v, a), qva) - overhead,
    }
    return times


def main():
    run = subprocess.run([ROOT / "build/bin/bench_dynamics", "--json"], check=True, capture_output=True, text=True)
    ours = {row["name"]: row["ours"] for row in json.loads(run.stdout)["rows"]}
    rows = []
    for n in SIZES:
        their = theirs(n)
        kinematics = ours[f"kinematics {n}"]
        rnea = kinematics + ours[f"rnea {n}"]
        mine = {"rnea": rnea, "crba": kinematics + ours[f"crba {n}"], "rnea_d": rnea + ours[f"rnea_d {n}"], "forward_d": ours[f"forward_d {n}"]}
        for name, value in mine.items():
            rows.append({"name": f"{name} {n}", "ours": round(value), "theirs": round(their[name]), "unit": "ns", "ratio": round(their[name] / value, 3)})
    if "--json" in sys.argv:
        print(json.dumps({"rows": rows}))
        return
    print(f"{'':16}{'ours ns':>10}{'theirs ns':>12}{'ratio':>8}")
    for r in rows:
        print(f"{r['name']:16}{r['ours']:>10}{r['theirs']:>12}{r['ratio']:>8}")


main()
