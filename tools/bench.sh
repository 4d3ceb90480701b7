#!/usr/bin/env bash
# Runs every measuring program once: the table of docs/performance.md (kept in bench/results/), then contact solves, batches and the command line's own.
set -euo pipefail
cd "$(dirname "$0")/.."
build/venv/bin/python bench/report.py
for program in lcp rules batch rollout dynamics collide; do
  echo "== bench_$program"
  "build/bin/bench_$program"
done
for name in step rollouts; do
  echo "== tangere bench $name"
  build/bin/tangere bench "$name"
done
