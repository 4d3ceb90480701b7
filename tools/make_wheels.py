#!/usr/bin/env python3
"""Makes what people install (make wheel): the source archive, and of it a manylinux wheel for each Python below, all in build/dist.

usage: tools/make_wheels.py [PYTHON ...]      default: CPython 3.11 and 3.12, in PATH or below ~/.pyenv

A wheel of CPython 3.12 has the stable interface and serves all later ones; 3.11 has no such interface that nanobind can use. Shared libraries of this machine that the
policies of manylinux do not promise are bundled with their licences (docs/decisions/0043-wheels.md). Ipopt and CoACD stay out.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK, DIST = ROOT / "build/wheels", ROOT / "build/dist"
WANTED = ("3.11", "3.12")
# flags of the release preset, so that a compiler cache gives the objects of that build
DEFINES = {"CMAKE_C_COMPILER": "cc", "CMAKE_C_FLAGS_RELEASE": "-O2 -DNDEBUG", "TG_WITH_IPOPT": "OFF", "TG_COACD": "OFF", "TG_WITH_ASSIMP": "ON", "TG_WITH_PNG": "ON",
           "TG_WITH_NLOPT": "ON", "TG_WITH_MESHOPT": "ON"}
# promised by manylinux, but not by a bare machine: bundled under a name that the policy does not know
BUNDLED_ALL_THE_SAME = ("libexpat.so.1", "libz.so.1")
MOST = 25e6   # bytes of a wheel


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def version_of(program):
    try:
        done = subprocess.run([program, "-c", "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"], text=True, capture_output=True)
    except OSError:
        return None
    return done.stdout.split()[1] if done.returncode == 0 and done.stdout.startswith("cpython ") else None


def find(version):
    """A CPython of that version: the one in PATH, else pyenv's."""
    below = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    return next((str(p) for p in (f"python{version}", *below) if version_of(p) == version), None)


def pins():
    lines = (ROOT / "tools/packages-wheel.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def venv(python, folder, packages):
    """A virtual environment that has these packages; made once."""
    stamp = folder / ".packages"
    if not stamp.exists() or stamp.read_text() != "\n".join(packages):
        shutil.rmtree(folder, ignore_errors=True)
        run(python, "-m", "venv", folder)
        run(folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)
        stamp.write_text("\n".join(packages))
    return folder / "bin/python"


def source_archive(python):
    """The archive, and its contents unpacked in a folder that keeps its name, so that a compiler cache knows it again."""
    name = run(python, "-c", f"from scikit_build_core.build import build_sdist; print(build_sdist({str(DIST)!r}))", cwd=ROOT).split()[-1]
    to = WORK / "source"
    shutil.rmtree(to, ignore_errors=True)   # what was built there too: the archive's files have one date, by which nothing could be told
    with tarfile.open(DIST / name) as archive:
        archive.extractall(WORK, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(WORK)
    (WORK / name.removesuffix(".tar.gz")).rename(to)
    return DIST / name, to


def elf_files(folder):
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def needed(patchelf, path):
    return run(patchelf, "--print-needed", path).split()


def place_of(library):
    """The path of a system's shared library."""
    for line in run("/sbin/ldconfig", "-p").splitlines():
        if line.split(" ")[0].strip() == library and "x86-64" in line:
            return pathlib.Path(line.split("=>")[1].strip())
    sys.exit(f"{library} is needed, and ldconfig knows none")


def rename_promised(tools, folder):
    """Has the wheel ask for its own copies of BUNDLED_ALL_THE_SAME; returns the folder in which auditwheel finds them."""
    own, patchelf = WORK / "own", tools.parent / "patchelf"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    names = {library: library.replace(".so", "_tangere.so") for library in BUNDLED_ALL_THE_SAME}
    for library, name in names.items():
        shutil.copy(place_of(library), own / name)
        run(patchelf, "--set-soname", name, own / name)
    for path in elf_files(folder):
        for library in set(needed(patchelf, path)) & set(names):
            run(patchelf, "--replace-needed", library, names[library], path)
    # libraries that need one of them keep the system's name: they are put right once auditwheel has copied them
    return own, names


def licence(library):
    """The Debian package of a bundled library and the text of its licences. Merged /usr: dpkg knows a file by the one or the other path."""
    real = os.path.realpath(library)
    for path in (real, real.removeprefix("/usr")):
        done = subprocess.run(["dpkg", "-S", path], text=True, capture_output=True)
        if done.returncode == 0:
            package = done.stdout.split(":")[0]
            return package, pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text()
    sys.exit(f"{library}: no Debian package owns it, so its licence is not known; the wheel may not carry it")


def bundle(tools, raw):
    """The manylinux wheel of a raw one."""
    work = WORK / "unpacked"
    shutil.rmtree(work, ignore_errors=True)
    run(tools, "-m", "wheel", "unpack", "-d", work, raw)
    folder = next(work.iterdir())
    own, names = rename_promised(tools, folder)
    raw.unlink()
    run(tools, "-m", "wheel", "pack", "-d", raw.parent, folder)
    path = {**os.environ, "LD_LIBRARY_PATH": str(own), "PATH": f"{tools.parent}:{os.environ['PATH']}"}
    repaired = WORK / "repaired"
    shutil.rmtree(repaired, ignore_errors=True)
    run(tools, "-m", "auditwheel", "repair", "-w", repaired, raw, env=path)
    return finish(tools, next(repaired.glob("*.whl")), names)


def finish(tools, wheel, names):
    """Bundled libraries use the bundled copies too; texts of their licences go in."""
    work, patchelf = WORK / "unpacked", tools.parent / "patchelf"
    shutil.rmtree(work, ignore_errors=True)
    run(tools, "-m", "wheel", "unpack", "-d", work, wheel)
    folder = next(work.iterdir())
    libs = folder / "tangere.libs"
    copies = {re.sub(r"-[0-9a-f]{8}(?=\.so)", "", path.name): path.name for path in libs.iterdir()}
    texts = next(folder.glob("*.dist-info")) / "licenses/bundled"
    texts.mkdir(parents=True)
    for path in libs.iterdir():
        for library in set(needed(patchelf, path)) & set(names):
            copy = next(full for stem, full in copies.items() if stem.startswith(names[library].split(".so")[0]))
            run(patchelf, "--replace-needed", library, copy, "--set-rpath", "$ORIGIN", path)
    for stem in copies:
        origin = next((place_of(library) for library, name in names.items() if stem.startswith(name.split(".so")[0])), None)
        found = origin or next(p for p in pathlib.Path("/usr/lib/x86_64-linux-gnu").glob(stem.split(".so")[0] + ".so*") if p.is_file())
        package, text = licence(found)
        (texts / f"{package}.txt").write_text(text)
    run(tools, "-m", "wheel", "pack", "-d", DIST, folder)
    return DIST / wheel.name


def build(python, source):
    """The raw wheel of one Python."""
    version, raw = version_of(python), WORK / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    inside = venv(python, WORK / f"python{version}", pins()[:2])
    words = [w for name, value in DEFINES.items() for w in ("-C", f"cmake.define.{name}={value}")]
    jobs = {"CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("JOBS", "2")}
    run(inside, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "-w", raw, *words, source, env={**os.environ, **jobs})
    return next(raw.glob("*.whl"))


def main():
    asked = sys.argv[1:] or [find(v) for v in WANTED]
    pythons = [p for p in asked if p is not None and version_of(p)]
    for version, program in zip(sys.argv[1:] or WANTED, asked):
        if program is None or version_of(program) is None:
            print(f"CPython {version} is not here: no wheel of it", flush=True)
    if not pythons:
        sys.exit("there is no Python to make a wheel for")
    shutil.rmtree(DIST, ignore_errors=True)
    for folder in (DIST, WORK):
        folder.mkdir(parents=True, exist_ok=True)
    tools = venv(pythons[0], WORK / "tools", pins())
    archive, source = source_archive(tools)
    print(f"{archive.relative_to(ROOT)}: {archive.stat().st_size / 1e6:.1f} MB", flush=True)
    for python in pythons:
        print(f"the wheel of CPython {version_of(python)} (the first time minutes)", flush=True)
        wheel = bundle(tools, build(python, source))
        size = wheel.stat().st_size
        print(f"{wheel.relative_to(ROOT)}: {size / 1e6:.1f} MB", flush=True)
        if size > MOST:
            sys.exit(f"{wheel.name} is larger than {MOST / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
