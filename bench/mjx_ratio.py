#!/usr/bin/env python3
"""A step of the pushed T of SM-R3 (models/push_t.xml) against MuJoCo's and MJX's, one after the other in one run.

usage: PYTHON bench/mjx_ratio.py [--json]     PYTHON: one that has mujoco, and mujoco-mjx with jax (pip install mujoco-mjx jax); MJX is left out where it is missing

After two seconds of pushing the stem, steps of 2 ms: ours over about 4000 points by build/bin/bench_softmin (least of many repeats, one thread), MuJoCo's and MJX's as
tools/push_t.py has them (least of seven runs; MJX compiled by jax for its default device). MuJoCo's contact is its own, not ours.
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]
import peers  # noqa: E402
import push_t  # noqa: E402


def ours():
    run = subprocess.run([ROOT / "build/bin/bench_softmin", "--json"], check=True, capture_output=True, text=True)
    rows = {r["name"]: r["value"] for r in map(json.loads, run.stdout.splitlines())}
    return {word: rows[f"{name} step of push_t.xml, finger pushing"] for word, name in (("rk4", "RK4"), ("euler", "Euler"))}


def main():
    mine, rows = ours(), []
    for integrator in push_t.INTEGRATORS:
        mujoco, mjx, note = push_t.step_times(integrator)
        rows.append(peers.row(f"{integrator} step, MuJoCo", mine[integrator], 1e3 * mujoco, ""))
        if mjx is None:
            print(f"MJX is left out: {note}", file=sys.stderr)
        else:
            rows.append(peers.row(f"{integrator} step, MJX ({note})", mine[integrator], 1e3 * mjx, ""))
    if "--json" in sys.argv[1:]:
        print(json.dumps({"rows": rows}))
    else:
        peers.show(rows)


if __name__ == "__main__":
    main()
