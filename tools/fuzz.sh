#!/usr/bin/env bash
# Runs every fuzz target on its kept corpus, then for SECONDS each. usage: tools/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-15}
for target in build/fuzz/fuzz/fuzz_*; do
  [[ -x $target && ! -d $target ]] || continue
  name=${target##*/fuzz_}
  found=build/fuzz/found/$name
  mkdir -p "$found" "build/fuzz/work/$name"
  echo "fuzz $name, $seconds s"
  words=(); [[ ! -f fuzz/$name.dict ]] || words=("-dict=fuzz/$name.dict")
  "$target" -runs=0 "fuzz/corpus/$name" >"$found/log" 2>&1 || { tail -40 "$found/log"; exit 1; }
  # the short run of make test repeats the same inputs; longer ones look further
  seed=$((seconds <= 60 ? 1 : 0))
  "$target" -seed="$seed" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -artifact_prefix="$found/" "${words[@]}" \
    "build/fuzz/work/$name" "fuzz/corpus/$name" >"$found/log" 2>&1 || { tail -40 "$found/log"; exit 1; }
  tail -1 "$found/log"
done
