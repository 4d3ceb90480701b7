#!/bin/bash
# tools/mutants_pack.sh FOLDER: what `tools/mutants.py run` needs on another Linux machine of x86-64 with glibc 2.36 or later: the mutants'
# programs, the files that they read, their libraries, and a Python with NumPy and pytest. There, as root, for the paths are those of here:
#     bash FOLDER/run.sh RESULTS [SECONDS]
# runs as many mutants as the seconds allow on all processors, and leaves reach.json and results.json in the folder RESULTS; these belong
# into build/mutants/ here.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD; out=$(mkdir -p "$1" && realpath "$1"); home=$root/build/mutants
stage=$(mktemp -d); trap 'rm -rf "$stage"' EXIT
to=$stage$home; mkdir -p "$to/tree/build" "$stage$root/tools" "$stage$root/lib" "$stage$root/python/lib"
cp tools/mutants.py tools/mutant_syntax.py tools/mutants_equivalent.txt "$stage$root/tools/"
tar c -C "$home" --exclude=tree/build/release --exclude=tree/viewer/node_modules --exclude=tree/.git --exclude=tree/build/venv --exclude=tree/build/share \
  --exclude=tree/docs tree | tar x -C "$to"
mkdir -p "$to/tree/build/share" && cp -r build/share/tangere "$to/tree/build/share/"
python3 tools/mutants_one.py "$home" "$stage/one"
mkdir -p "$to/tree/build/release/test" && cp "$stage"/one/{all,all_cx} "$to/tree/build/release/test/"
python3 - "$stage/one/tests.json" "$home/tree" <<'P' | tar c -C "$home/tree" -T - | tar x -C "$to/tree"
import json, pathlib, sys
root = pathlib.Path(sys.argv[2])
some = {t["command"][0] for t in json.load(open(sys.argv[1])).values()} | set(map(str, [*(root / "build/bin").iterdir(), *root.glob("build/release/**/*.so*")]))
print("\n".join(str(pathlib.Path(p).relative_to(root)) for p in sorted(some) if p.startswith(str(root)) and pathlib.Path(p).is_file()))
P
find "$to/tree/build" -type f -perm -100 -exec strip -s {} + 2>/dev/null || true
cp "$home/mutants.json" "$stage/one/tests.json" "$to/"; rm -r "$stage/one"
for f in reach.json results.json; do [[ -e $home/$f ]] && cp "$home/$f" "$to/"; done
# a Python of our own: the standard library, NumPy, pytest
base=$(build/venv/bin/python -c 'import sys; print(sys.base_prefix)'); name=$(build/venv/bin/python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
mkdir -p "$stage$root/python/bin"; cp -L "$base/bin/$name" "$stage$root/python/bin/"
tar c -C "$base/lib" --exclude='__pycache__' --exclude="$name/test" --exclude="$name/site-packages" --exclude='config-*' --exclude=idlelib --exclude=ensurepip \
  --exclude=lib2to3 --exclude=tkinter --exclude=turtledemo "$name" | tar x -C "$stage$root/python/lib"
mkdir -p "$stage$root/python/lib/$name/site-packages"
for p in numpy numpy.libs pytest _pytest py.py pluggy iniconfig packaging pygments; do
  tar c -C "build/venv/lib/$name/site-packages" --exclude='__pycache__' --exclude='tests' --exclude='*.a' "$p" | tar x -C "$stage$root/python/lib/$name/site-packages"
done
find "$stage$root/python" \( -name '*.so*' -o -name "$name" \) -type f ! -path '*/numpy.libs/*' -exec strip --strip-unneeded {} + 2>/dev/null || true
# libraries but glibc
{ find "$home/tree/build" -type f -perm -100 ! -path '*/CMakeFiles/*' -exec ldd {} + 2>/dev/null; ldd "$base/bin/$name"; find "$base/lib/$name/lib-dynload" -name '*.so' -exec ldd {} +; } |
  awk '$3 ~ /^\// {print $3}' | sort -u | grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so' | grep -v "^$home" | while read -r f; do
    cp -Ln "$f" "$stage$root/lib/"; done
strip --strip-unneeded "$stage$root"/lib/* 2>/dev/null || true
tar c -C "$stage" --sort=name . | zstd -q -f -10 --long=30 -T1 -o "$out/mutants.tar.zst"
cp -L "$(command -v zstd)" "$out/zstd"
cp -L $(ldd "$out/zstd" | awk '$3 ~ /^\// {print $3}' | grep -vE '/lib(c|m|dl|rt|pthread)\.so') "$out/"
cat > "$out/run.sh" <<RUN
#!/bin/bash
# run.sh RESULTS [SECONDS]: the mutants on all processors of this machine
set -euo pipefail
here=\$(cd "\$(dirname "\$0")" && pwd); results=\$1; seconds=\${2:-360}; mkdir -p "\$results"
LD_LIBRARY_PATH=\$here "\$here/zstd" -dcq --long=30 "\$here/mutants.tar.zst" | tar x -C /
export LD_LIBRARY_PATH=$root/lib PYTHONHOME=$root/python PYTHONDONTWRITEBYTECODE=1
cd $root
save() { cp build/mutants/reach.json build/mutants/results.json "\$results/" 2>/dev/null || true; }
trap save EXIT
python/bin/$name tools/mutants.py reach --jobs "\$(nproc)" > "\$results/reach.log" 2>&1
save
# the cheap kills first, then what is left to those that no quick test kills
for most in 5 20 60 400; do
  python/bin/$name tools/mutants.py run --jobs "\$(nproc)" --seconds "\$most" --within "\$((seconds - SECONDS > 1 ? seconds - SECONDS : 1))" >> "\$results/run.log" 2>&1
  save
done
python/bin/$name tools/mutants.py again --jobs "\$(nproc)" > "\$results/again.log" 2>&1
python/bin/$name tools/mutants.py table > "\$results/table.md"
RUN
du -sh "$out" "$out"/*
