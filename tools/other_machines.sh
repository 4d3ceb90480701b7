#!/usr/bin/env bash
# Other compilers, processors and C libraries than those of make test (docs/other_machines.md).
# usage: tools/other_machines.sh compilers [CC ...]   every source file under each compiler, warnings as errors; FULL=1 also builds all and runs the tests
#        tools/other_machines.sh plain [TEST ...]     tests of build/release on an emulated processor without AVX
#        tools/other_machines.sh aarch64 [TEST ...]   cross build, and tests of it, emulated
#        tools/other_machines.sh musl                 every source file against musl's headers
# Debian packages: gcc-11 clang-15 clang-16 clang-19 musl-tools gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
set -euo pipefail
cd "$(dirname "$0")/.."
JOBS=${JOBS:-2}
out=build/other
mkdir -p "$out"

# every C file of the library and the programs, its own flags taken from those of build/release, under "$@": all are compiled, none is linked
compile_all() {  # name command...
  local name=$1; shift
  [[ -f build/release/compile_commands.json ]] || { echo "configure build/release first: cmake --preset release"; exit 1; }
  python3 - "$@" <<'PY' | xargs -0 -P "$JOBS" -I{} bash -c '{} || exit 1' >"$out/$name.log" 2>&1 || { head -40 "$out/$name.log"; echo "$name: failed"; return 1; }
import json, shlex, sys
tool, seen = sys.argv[1:], set()
for entry in json.load(open("build/release/compile_commands.json")):
    words = shlex.split(entry["command"])
    words = words[next(i for i, w in enumerate(words) if w.startswith("-")):]   # without the compiler and its cache
    file = entry["file"]
    if "/src/" not in file or "TG_COMPLEX" in entry["command"]:
        continue
    keep, skip = [], False
    for w in words:
        if skip or w in ("-c", file):
            skip = False
        elif w == "-o":
            skip = True
        elif not w.startswith(("-M", "-fcx-limited-range")):
            keep.append(w)
    line = " ".join(map(shlex.quote, [*tool, *keep, "-fsyntax-only", file]))
    if line not in seen:
        seen.add(line)
        sys.stdout.write(f"cd {shlex.quote(entry['directory'])} && {line}\0")
PY
  echo "$name: every file of src/ compiles, no warning ($("${@:1:1}" --version | head -1))"
}

compilers() {
  local found=("$@") compiler
  [[ ${#found[@]} -gt 0 ]] || found=(gcc-11 gcc-12 gcc-13 gcc-14 clang-14 clang-15 clang-16 clang-17 clang-18 clang-19)
  for compiler in "${found[@]}"; do
    command -v "$compiler" >/dev/null || { echo "$compiler: not installed"; continue; }
    compile_all "$compiler" "$compiler"
    [[ ${FULL:-} == 1 ]] || continue
    cmake -G Ninja -S . -B "$out/$compiler" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DTG_BUILD_BENCH=OFF >"$out/$compiler.log" 2>&1
    cmake --build "$out/$compiler" -j"$JOBS" >>"$out/$compiler.log" 2>&1 || { tail -40 "$out/$compiler.log"; return 1; }
    (cd "$out/$compiler" && ctest -LE long -j"$JOBS" --output-on-failure) | tail -5
  done
}

CORE=(quat dense ldl pattern gjk kinematics forces inverse model step)

run_tests() {  # what, folder, emulator..., then -- and tests
  local what=$1 folder=$2; shift 2
  local emulator=()
  while [[ $1 != -- ]]; do emulator+=("$1"); shift; done
  shift
  for test in "$@"; do
    if "${emulator[@]}" "$folder/test_$test" >"$out/$test.log" 2>&1; then echo "$what: test_$test passes"
    else tail -20 "$out/$test.log"; echo "$what: test_$test failed"; return 1; fi
  done
}

# instructions that the emulated processor lacks end the program
plain() {
  [[ $# -gt 0 ]] || set -- "${CORE[@]}"
  run_tests "no AVX" build/release/test qemu-x86_64 -cpu Nehalem -- "$@"
}

# headers and libraries of Debian's arm64, laid beside: nothing of this machine is changed
sysroot() {
  local root=$PWD/$out/arm64
  [[ -d $root/usr ]] && return
  mkdir -p "$root" "$out/apt/state/lists/partial" "$out/apt/cache/archives/partial"
  touch "$out/apt/status"
  cat >"$out/apt/apt.conf" <<CONF
Dir::State "$PWD/$out/apt/state"; Dir::State::status "$PWD/$out/apt/status"; Dir::Cache "$PWD/$out/apt/cache";
APT::Architecture "arm64"; APT::Architectures { "arm64"; }; APT::Install-Recommends "false"; APT::Sandbox::User "root";
CONF
  APT_CONFIG=$out/apt/apt.conf apt-get -qq update
  APT_CONFIG=$out/apt/apt.conf apt-get -qq install -y --download-only libexpat1-dev libcyaml-dev libyaml-dev zlib1g-dev \
    libqhull-dev libjansson-dev libcmocka-dev libc6-dev
  for package in "$out"/apt/cache/archives/*.deb; do dpkg -x "$package" "$root"; done
  # links to absolute paths, as that of libm.so, would lead out of it
  find "$root" -type l -lname '/*' -exec sh -c 'ln -sfn "$0$(readlink "$1")" "$1"' "$root" {} \;
}

# without optimisation, which takes most of the time, gcc takes loops over lanes for ones that may leave numbers unset
aarch64() {
  [[ $# -gt 0 ]] || set -- "${CORE[@]}"
  sysroot
  local root=$PWD/$out/arm64 libraries=$PWD/$out/arm64/usr/lib/aarch64-linux-gnu
  PKG_CONFIG_LIBDIR=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root cmake -G Ninja -S . -B "$out/aarch64" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_SYSROOT="$root" \
    -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -DNDEBUG" -DCMAKE_LIBRARY_ARCHITECTURE=aarch64-linux-gnu -DTG_QHULL="$libraries/libqhull_r.so" \
    -DTG_WITH_ASSIMP=OFF -DTG_WITH_PNG=OFF -DTG_WITH_NLOPT=OFF -DTG_WITH_IPOPT=OFF -DTG_WITH_MESHOPT=OFF -DTG_COACD=OFF -DTG_BUILD_BENCH=OFF \
    -DTG_BUILD_TWINS=OFF -DTG_WERROR=OFF >"$out/aarch64.log" 2>&1 || { tail -20 "$out/aarch64.log"; return 1; }
  cmake --build "$out/aarch64" -j"$JOBS" --target "${@/#/test_}" >>"$out/aarch64.log" 2>&1 || { grep -E 'error|warning' "$out/aarch64.log" | head; return 1; }
  run_tests aarch64 "$out/aarch64/test" qemu-aarch64 -L "$root" -- "$@"
}

# Third-party headers are laid beside musl's own. There are no such libraries built on musl in Debian, so nothing is linked.
musl() {
  local extra=$PWD/$out/musl
  mkdir -p "$extra"
  for header in expat.h expat_external.h expat_config.h cyaml yaml.h zlib.h zconf.h libqhull_r jansson.h jansson_config.h microhttpd.h \
      coin coin-or nlopt.h assimp meshoptimizer.h png.h pngconf.h pnglibconf.h; do
    for place in /usr/include /usr/include/x86_64-linux-gnu; do
      [[ ! -e $place/$header || -e $extra/$header ]] || ln -s "$place/$header" "$extra/$header"
    done
  done
  [[ -e $extra/linux ]] || ln -s /usr/include/linux /usr/include/x86_64-linux-gnu/asm /usr/include/asm-generic "$extra/"
  compile_all musl musl-gcc -isystem "$extra"
}

case ${1:-} in
  compilers | plain | aarch64 | musl) "$@" ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 1 ;;
esac
