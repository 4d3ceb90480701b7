"""A contact model added by the steps of docs/adding_a_contact_model.md, in a copy of the tree: the folder and pages of
test/contact/added and one line of src/contact/table.c. Nothing else of the copy changes. The checks of the tree and the tests
that run on every line of the table pass, and they see the new model: with a wrong derivative in it they fail.

usage: check.py TREE FOLDER CC
FOLDER is for the copy and its build, which are kept: a second run compiles what changed."""
import os
import pathlib
import shutil
import subprocess
import sys

tree, folder, compiler = (pathlib.Path(a) for a in sys.argv[1:4])
copy, added = folder / "tree", tree / "test/contact/added"
build = copy / "build/release"
LINE = "  X(spring)    /* springs between nearest points */ \\\n"
TABLE, SOURCE = "src/contact/table.c", "src/contact/spring/spring.c"
OWN = {"src/contact/spring", "docs/contact/spring.md", "docs/math/spring.md"}   # what is the new model's
PARTS = ["CMakeLists.txt", "bench/rack.c", "bench/rack.h", "cmake", "docs", "include", "repro", "samples", "scenes", "src", "test", "tools"]
TESTS = ["test_conformance", "test_options", "test_option_tables"]


def files(top, parts=PARTS):
    """{path: bytes} of the parts of a tree."""
    found = {}
    for part in parts:
        paths = [top / part] if (top / part).is_file() else sorted((top / part).rglob("*"))
        found |= {p.relative_to(top).as_posix(): p.read_bytes() for p in paths if p.is_file() and "__pycache__" not in p.parts}
    return found


def put(path, content):
    """Leaves alone what is so already: no compiling then."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def with_line(table):
    """The table with the line before its last."""
    first, last = table[:table.rindex(b"  X(")], table[table.rindex(b"  X("):]
    return first + LINE.encode() + last


def run(*command, fails=False):
    done = subprocess.run([str(c) for c in command], cwd=copy, capture_output=True, text=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(str(c) for c in command)}: status {done.returncode}\n{done.stdout[-6000:]}{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def make(*targets):
    run("cmake", "--build", build, "-j2", "--target", *targets)


original = files(tree)
wanted = original | files(added, ["src", "docs"])
wanted[TABLE] = with_line(original[TABLE])
copied = files(copy) if copy.is_dir() else {}
for name in copied.keys() - wanted.keys():
    (copy / name).unlink()
for name, content in wanted.items():
    put(copy / name, content)

if shutil.which("git") and not (copy / ".git").exists():
    run("git", "init", "-q")   # some checks ask it for the files
    (copy / ".gitignore").write_text("/build/\n")
for check in ("layers", "derivatives") + (("refs", "style") if shutil.which("git") else ()):
    run(sys.executable, copy / f"tools/check_{check}.py")

# Where a compiler cache is in use, as the release preset compiles, and as deep under the sources: what does not see the new model is in the cache.
# Else quick to compile; neither results nor derivatives depend on it.
cached = pathlib.Path(os.environ.get("CMAKE_C_COMPILER_LAUNCHER", "")).name == "ccache"
how = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG"] if cached else ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O0"]
run("cmake", "-S", copy, "-B", build, "-G", "Ninja" if shutil.which("ninja") else "Unix Makefiles", f"-DCMAKE_C_COMPILER={compiler}", *how,
    "-DTG_BUILD_TESTS=ON", "-DTG_BUILD_BENCH=OFF")
make(*TESTS, "tangere_cli")
run(build / "test/test_option_tables", "--write")
for test in TESTS:
    run(build / "test" / test)
for word in ("spring", "length"):
    if word not in run(build / "bin/tangere", "simulate", "--help"):
        sys.exit(f"tangere simulate --help does not know {word}")

# what differs from the tree: the model's own files, and one line
now = files(copy)
differs = {name for name in original.keys() | now.keys() if original.get(name) != now.get(name)}
foreign = [name for name in differs - {TABLE} if not any(name == o or name.startswith(o + "/") for o in OWN)]
lines = now[TABLE].decode().splitlines(keepends=True)
if foreign or LINE not in lines or "".join(x for x in lines if x != LINE).encode() != original[TABLE]:
    sys.exit(f"more than the folder, its pages and the line has changed: {foreign or TABLE}")

# the tests do run on it: they find a derivative that is half of what it should be
right = now[SOURCE]
wrong = right.replace(b"- k * p->D[6][c]", b"- k / 2 * p->D[6][c]")
if wrong == right:
    sys.exit(f"{SOURCE} has changed, and the wrong derivative with it")
try:
    put(copy / SOURCE, wrong)
    make("test_conformance")
    said = run(build / "test/test_conformance", fails=True)
finally:
    put(copy / SOURCE, right)
if "spring" not in said:
    sys.exit(f"with a wrong derivative test_conformance fails, but not for the spring:\n{said[-3000:]}")
print(f"{len(differs)} files differ, {sum(len(now[n].splitlines()) for n in differs if n != TABLE)} lines of the model's own, 1 of the table")
