#!/usr/bin/env bash
# Runs every measuring program once and keeps what they print under bench/results/MACHINE/.
set -euo pipefail
cd "$(dirname "$0")/.."
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1 | tr -cs 'A-Za-z0-9\n' '-' | sed 's/^-*//; s/-*$//')
out=bench/results/${machine:-unknown}
mkdir -p "$out"
export OPENBLAS_NUM_THREADS=1
for program in build/bin/bench_*; do
  name=${program##*/bench_}
  echo "== $name"
  "$program" | tee "$out/$name.txt"
done
for name in step rollouts; do
  echo "== tangere bench $name"
  build/bin/tangere bench "$name" 2>&1 | tee "$out/cheetah_$name.txt"
done
if [[ -x build/venv/bin/python ]]; then
  echo "== derivatives of forward dynamics against Pinocchio"
  build/venv/bin/python bench/pinocchio_ratio.py | tee "$out/pinocchio.txt"
fi
