#!/usr/bin/env bash
# Runs every fuzz target on its kept corpus, then for SECONDS each, JOBS (2) targets at a time. usage: tools/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."

run_target() {  # program seconds
  local target=$1 seconds=$2 name=${1##*/fuzz_} words=() seed=0 most=5
  local found=build/fuzz/found/$name
  mkdir -p "$found" "build/fuzz/work/$name"
  [[ ! -f fuzz/$name.dict ]] || words=("-dict=fuzz/$name.dict")
  [[ $name != step ]] || most=60   # five steps and their gradient, 25 times slower than in a release build
  # the short run of make test repeats the same inputs; longer ones look further
  ((seconds > 60)) || seed=1
  if "$target" -runs=0 "fuzz/corpus/$name" >"$found/log" 2>&1 &&
     "$target" -seed="$seed" -max_total_time="$seconds" -timeout="$most" -rss_limit_mb=2048 -artifact_prefix="$found/" "${words[@]}" \
       "build/fuzz/work/$name" "fuzz/corpus/$name" >"$found/log" 2>&1
  then echo "fuzz $name, $seconds s: $(tail -1 "$found/log")"
  else echo "fuzz $name failed:"; tail -40 "$found/log"; return 1
  fi
}
export -f run_target

targets=()
for target in build/fuzz/fuzz/fuzz_*; do
  [[ -x $target && ! -d $target ]] || continue
  # one that an earlier make test-long has left is not built anew where not all is sanitized
  [[ $target != */fuzz_step ]] || grep -q '^TG_SANITIZE_ALL:[A-Z]*=ON' build/fuzz/CMakeCache.txt || continue
  targets+=("$target")
done
printf '%s\0' "${targets[@]}" | xargs -0 -P "${JOBS:-2}" -I{} bash -c 'run_target {} "$0"' "${1:-15}"
