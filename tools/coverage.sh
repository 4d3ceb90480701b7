#!/usr/bin/env bash
# Line coverage of src/ per folder, from the coverage build's tests (real and complex objects merged) and the command line's.
# usage: tools/coverage.sh [all]    all: also every file below 95 %, with the lines that no test reached
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/coverage info=build/coverage/tests.info
find "$build" -name '*.gcda' -delete
ctest --test-dir "$build" -LE long -j"${JOBS:-2}" --timeout 900 --output-on-failure >"$build/tests.log" 2>&1 || { tail -40 "$build/tests.log"; exit 1; }
python=python3
[[ -x build/venv/bin/python ]] && python=build/venv/bin/python
# the interrupted run needs the speed of an optimised build
TANGERE_EXE=$PWD/$build/bin/tangere TANGERE_VIEWER=${TANGERE_VIEWER:-$PWD/build/share/tangere/viewer.html} \
  "$python" -m pytest -q -p no:cacheprovider test/cli -k 'not interrupt' >"$build/cli.log" 2>&1 || { tail -40 "$build/cli.log"; exit 1; }
lcov --quiet --capture --directory "$build/src" --output-file "$info" 2>"$build/lcov.log"
awk -v all="${1:-}" -v root="$PWD/src/" '
  /^SF:/ { file = substr($0, 4); mine = index(file, root) == 1; file = substr(file, length(root) + 1) }
  mine && /^DA:/ { split(substr($0, 4), a, ","); count[file ":" a[1]] += a[2] }   # a line of both scalars is one line
  END {
    for (at in count) {
      split(at, a, ":")
      folder = file = a[1]; sub("/[^/]*$", "", folder)
      lines[folder]++; of[file]++; n++
      if (count[at] > 0) { hit[folder]++; got[file]++; h++ } else missed[file] = missed[file] " " a[2]
    }
    printf "%-16s %7s %7s %7s\n", "folder", "lines", "reached", "%"
    for (f in lines) printf "%-16s %7d %7d %7.1f\n", f, lines[f], hit[f], 100 * hit[f] / lines[f] | "sort"
    close("sort")
    printf "%-16s %7d %7d %7.1f\n", "src", n, h, 100 * h / n
    if (all != "") for (f in of) if (got[f] < 0.95 * of[f]) printf "%5.1f %% %s:%s\n", 100 * got[f] / of[f], f, missed[f] | "sort"
  }' "$info"
