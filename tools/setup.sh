#!/usr/bin/env bash
# Installs what is missing for `build`, `docs` or `test`: Debian packages, Node packages of the viewer, Python packages (docs, test).
# usage: tools/setup.sh build|docs|test
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-build}

missing=()
while read -r name when _; do
  [[ -z $name || $name == \#* ]] && continue
  [[ $what == build && $when != build || $what == docs && $when == test ]] && continue
  # a tool that is there under its own name needs no package (nodejs and npm from elsewhere, for one)
  case $name in
    cmake | gcc | g++ | make | git | npm | clang | chromium | python3) command -v "$name" >/dev/null && continue ;;
    nodejs) command -v node >/dev/null && continue ;;
    ninja-build) command -v ninja >/dev/null && continue ;;
    python3-dev) python3 -c 'import os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null && continue ;;
    python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null && continue ;;
  esac
  dpkg -s "$name" >/dev/null 2>&1 || missing+=("$name")
done <tools/packages-debian.txt
if ((${#missing[@]})); then
  if ! command -v apt-get >/dev/null; then
    echo "this is no Debian-like machine (no apt-get): install what these Debian packages hold, then repeat: ${missing[*]}" >&2
    exit 1
  fi
  run=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "packages are missing, and this is neither root nor has sudo. Have root run this, then repeat:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    run=(sudo)
  fi
  echo "installing (a minute or two): ${missing[*]}"
  "${run[@]}" apt-get update -q >build-setup.log 2>&1 || true
  if ! "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >>build-setup.log 2>&1; then
    tail -20 build-setup.log >&2
    exit 1
  fi
  rm -f build-setup.log
fi

mkdir -p build
stamp=build/.node-$(sha256sum viewer/package-lock.json | cut -c1-16)
if [[ $what != docs && (! -e $stamp || ! -x viewer/node_modules/.bin/vite) ]]; then
  echo "installing the viewer's Node packages"
  (cd viewer && npm ci --no-audit --no-fund --loglevel=error)
  touch "$stamp"
fi

if [[ $what != build ]]; then
  stamp=build/.docs-$(sha256sum tools/packages-docs.txt | cut -c1-16)
  if [[ ! -e $stamp || ! -x build/venv/bin/python ]]; then
    echo "installing the Python packages of the documentation into build/venv"
    [[ -x build/venv/bin/python ]] || python3 -m venv build/venv
    build/venv/bin/pip install -q --disable-pip-version-check -r tools/packages-docs.txt
    touch "$stamp"
  fi
fi
if [[ $what == test ]]; then
  stamp=build/.python-$(cat tools/packages-python.txt tools/setup.sh | sha256sum | cut -c1-16)
  if [[ ! -e $stamp || ! -x build/venv/bin/python ]]; then
    echo "installing the Python packages of the tests into build/venv (some 1.5 GB, minutes)"
    python3 -m venv build/venv
    build/venv/bin/pip install -q --disable-pip-version-check -r tools/packages-python.txt
    # the build for CPUs, a tenth of the other's size: from an index that is set up, else PyTorch's own
    torch=torch==2.13.0+cpu
    build/venv/bin/pip install -q --disable-pip-version-check $torch 2>build/torch.log ||
      build/venv/bin/pip install -q --disable-pip-version-check --extra-index-url https://download.pytorch.org/whl/cpu $torch
    touch "$stamp"
  fi
fi
