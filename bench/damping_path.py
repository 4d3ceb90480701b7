#!/usr/bin/env python3
"""What a path of damping ratios brings in an optimisation: a floor on servos throws a box onto its next face, from ten starts.

usage: build/venv/bin/python bench/damping_path.py [STARTS]      (10)

Sixty iterations of L-BFGS each: `once` by a ratio of 1; `path` twenty each by 5, 2 and 1; `again` twenty thrice by 1, since a stage begins L-BFGS
anew. The loss is that of the last stage, by a ratio of 1.
"""
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TASK = """model: flip.xml
contact: damped
horizon: {steps: 100, timestep: 0.01}
controls: {every: 10, start: 0.15, start_noise: 0.15, low: -0.4, high: 0.8}
effort: off
losses:
  - {term: body_orientation, name: box, target: [0.70710678, 0, 0.70710678, 0], weight: 1}
  - {term: body_com, name: box, target: [0.4, 0, 0.1], weight: 5}
  - {term: velocity, weight: 0.01}
  - {term: control, weight: 1.0e-3}
verify: {rows: [none]}
"""
STAGES = {"once": ([1], 60), "path": ([5, 2, 1], 20), "again": ([1, 1, 1], 20)}


def main():
    starts = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    model = (ROOT / "models" / "damped_flip.xml").read_text().replace('mass="1000" diaginertia="1000 1000 1000"', 'mass="20" diaginertia="20 20 20"')
    model = model.replace('kp="1e12"', 'kp="2e4" kv="1200"').replace('friction="0.5"', 'friction="0.8"')
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "flip.xml").write_text(model)
        for name, (ratios, iterations) in STAGES.items():
            refine = "".join(f"  - {{options: {{damping_ratio: {r}}}, iterations: {iterations}}}\n" for r in ratios[1:])
            (folder / f"{name}.yaml").write_text(f"{TASK}options: {{damping_ratio: {ratios[0]}}}\noptimizer: {{method: lbfgs, iterations: {iterations}}}\n"
                                                 + ("refine:\n" + refine if refine else ""))
            losses = []
            for seed in range(1, starts + 1):
                done = subprocess.run([ROOT / "build/bin/tangere", "optimize", f"{name}.yaml", "--seed", str(seed), "--out", f"{name}{seed}", "--no-replay",
                                       "--no-trust", "--threads", "1"], cwd=folder, capture_output=True, text=True)
                losses.append(float(re.search(r"^loss \S+ -> (\S+)", done.stderr + done.stdout, re.M)[1]))
            print(f"{name}: median {statistics.median(losses):.3g}, mean {statistics.mean(losses):.3g}, {' '.join(f'{x:.3g}' for x in losses)}", flush=True)


if __name__ == "__main__":
    main()
