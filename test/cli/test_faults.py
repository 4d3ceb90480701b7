"""Each file operation of the programs fails in turn (test/support/io_fault.c, preloaded): no crash, the exit code of a fault, the file
named, and what was there before is there still, whole. TANGERE_LONG=1 takes every operation and every kind, else a share of them."""
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import zipfile

import pytest

from command_line import EXE, ROOT

KIT = pathlib.Path(os.environ.get("TANGERE_IO_FAULT_KIT") or ROOT / "build" / "release" / "test" / "io_fault.so")
LONG = bool(os.environ.get("TANGERE_LONG"))
SHARE = 8        # of the faults of a job, in make test

TASK = """model: m.xml
contact: lcp
horizon: {steps: 12, timestep: 0.01}
controls: {every: 4, low: -3, high: 3}
losses:
- {term: body_position, name: puck, target: [0.2, 0, 0.1], weight: 1}
optimizer: {method: METHOD, iterations: 3}
verify: {rows: [none]}
success: {distance: 10}
"""
MODEL = """<mujoco><option timestep="0.01"/><asset><mesh name="box" file="box.obj"/></asset><worldbody>
<geom name="floor" type="plane" size="5 5 0.1"/>
<body name="puck" pos="0 0 0.1"><joint name="x" type="slide" axis="1 0 0"/><geom type="mesh" mesh="box" mass="1"/></body></worldbody>
<actuator><motor name="push" joint="x"/></actuator></mujoco>
"""
BOX = "".join(f"v {x} {y} {z}\n" for x in (-.1, .1) for y in (-.1, .1) for z in (-.1, .1)) + \
      "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
SPEC = "task: adam.yaml\njob: optimize\nvary:\n- {option: erp, values: [0.1, 0.2]}\nseeds: 2\n"

# what the command is, and what is done before it, in the same folder
JOBS = {
    "simulate": (["simulate", "m.xml", "--steps", "5", "--out", "out", "--overwrite"], [["simulate", "m.xml", "--steps", "9", "--out", "out"]]),
    "simulate into nothing": (["simulate", "m.xml", "--steps", "5", "--out", "new/out"], []),
    "convert": (["convert", "m.xml", "--out", "m.npz"], [["convert", "m.xml", "--out", "m.npz"]]),
    "optimize": (["optimize", "adam.yaml", "--threads", "1", "--out", "out", "--overwrite"], [["optimize", "adam.yaml", "--iterations", "2", "--out", "out"]]),
    "optimize resumed": (["optimize", "gauss_newton.yaml", "--threads", "1", "--out", "out", "--resume"],
                         [["optimize", "gauss_newton.yaml", "--out", "out"], "cut"]),
    "batch": (["batch", "spec.yaml", "--threads", "1", "--out", "out"], []),
    "batch taken up": (["batch", "spec.yaml", "--threads", "1", "--out", "out"], [["batch", "spec.yaml", "--threads", "1", "--out", "out"], "lose"]),
    "merge": (["batch", "--merge", "out"], [["batch", "spec.yaml", "--out", "out"], ["batch", "--merge", "out"]]),
    "batch of a task": (["batch", "adam.yaml", "--count", "2", "--threads", "1", "--out", "out"], []),
    "replay": (["replay", "out", "--out", "page.html"], [["simulate", "m.xml", "--steps", "5", "--out", "out"]]),
    "gradcheck": (["gradcheck", "adam.yaml"], []),
}
WRITES = {"create", "write", "fsync", "truncate", "rename", "mkdir"}


def kit_loads():
    """A sanitizer's run-time library wants to be the first that is loaded."""
    return KIT.exists() and b"__asan_init" not in EXE.read_bytes()


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    assert kit_loads(), f"{KIT} is not built: cmake --build --preset release --target io_fault"
    ctypes.CDLL(str(KIT))
    folder = tmp_path_factory.mktemp("faults")
    page = folder / "viewer.html"
    page.write_text('<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>')
    return folder


def lay_out(job, folder):
    folder.mkdir()
    (folder / "m.xml").write_text(MODEL)
    (folder / "box.obj").write_text(BOX)
    (folder / "spec.yaml").write_text(SPEC)
    for method in ("adam", "gauss_newton"):
        (folder / f"{method}.yaml").write_text(TASK.replace("METHOD", method))
    for before in JOBS[job][1]:
        if before == "cut":
            whole = (folder / "out/checkpoint").read_bytes()
            (folder / "out/checkpoint").write_bytes(whole[:2 * len(whole) // 3])
        elif before == "lose":
            (folder / "out" / "ledger").write_bytes(b"\n".join((folder / "out/ledger").read_bytes().split(b"\n")[:3]) + b"\ndone 1 bi")
            next((folder / "out").rglob("*3.npz")).unlink()
        else:
            done = subprocess.run([EXE, *before], cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, "TANGERE_VIEWER": str(folder.parent / "viewer.html")})
            assert done.returncode == 0, done.stderr


def run(job, folder, fault=None):
    log = folder.parent / "log"
    log.unlink(missing_ok=True)
    env = {**os.environ, "LD_PRELOAD": str(KIT), "TANGERE_IO_ROOT": str(folder), "TANGERE_IO_LOG": str(log),
           "TANGERE_VIEWER": str(folder.parent / "viewer.html")}
    if fault is not None:
        env["TANGERE_IO_FAULT"] = fault
    done = subprocess.run([EXE, *JOBS[job][0]], cwd=folder, capture_output=True, text=True, timeout=60, env=env)
    lines = [line.split(" ", 2) for line in log.read_text().splitlines()]
    return done, [line[1:] for line in lines if line[0] != "failed"], [int(line[1]) - 1 for line in lines if line[0] == "failed"]


def without_times(data):
    return re.sub(rb'"seconds": *[0-9.e+-]+', b'"seconds": 0', data)


def files(folder):
    """What lies in the folder, but for the times in it."""
    return {p.relative_to(folder).as_posix(): without_times(p.read_bytes()) for p in folder.rglob("*") if p.is_file()}


def lasting(folder):
    """Without what a run could not even take away."""
    return {name: data for name, data in files(folder).items() if ".tmp-" not in name}


def faults(operations):
    """n:WHAT:times for each operation that can fail so."""
    for n, (operation, _) in enumerate(operations, 1):
        kinds = ["EIO"] + (["ENOSPC"] if operation in WRITES else []) + (["EINTR"] if operation in ("create", "open", "read", "write", "fsync") else [])
        for kind in kinds:
            for times in (1, 0) if kind != "EINTR" else (1, 30):   # without end it would be waited for without end
                yield f"{n}:{kind}:{times}"
        if operation in ("read", "write"):
            yield f"{n}:SHORT:1"
            yield f"{n}:SHORT:0"


def whole(name, data):
    """Not cut off: what kinds of files show it by themselves."""
    if name.endswith(".json"):
        json.loads(data)
    elif name.endswith(".npz"):
        import io
        assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None
    elif name.endswith(".html"):
        assert data.endswith(b"</div>")


def judge(fault, clean, before, after_clean, done, operations, failed, after):
    what = f"{fault}: {operations[failed[0]] if failed else 'nothing failed'}\nexit {done.returncode}: {done.stderr}"
    # a lock that could not be taken away holds nobody up
    same = done.returncode == clean.returncode and {n: d for n, d in after.items() if not n.endswith(".lock")} == after_clean
    assert done.returncode >= 0, what
    if ":SHORT:" in fault:
        assert same, what        # less than was asked for is no failure
    if same or not failed:
        return
    operation = operations[failed[0]][0]
    names = {re.sub(r"\.(tmp-.*|lock)$", "", operations[n][1].rstrip("/").split("/")[-1]) for n in failed if n < len(operations)}
    # a folder is named by what was to be in it; the one that the command runs in, as "."
    folders = {operations[n][1] for n in failed if n < len(operations)}
    names |= {re.sub(r"\.tmp-.*$", "", path.split("/")[-1]) for _, path in operations if os.path.dirname(path) in folders} | {"directory ."}
    assert any(n in done.stderr for n in names), f"the file is not named: {what}"
    # a hash of an input that could not be read again is none, which is said; all else is a fault
    without_hash = done.returncode == clean.returncode and "has no hash" in done.stderr
    assert done.returncode == 4 or without_hash, what
    # a run whose journal fails ends there, and leaves its best so far
    early = operations[failed[0]][1].endswith("checkpoint")
    for old, data in before.items():
        assert old in after or old.endswith(".lock"), f"{old} is gone: {what}"
        if old in after and not without_hash and not early and after[old] not in (data, after_clean.get(old)):
            assert old.split("/")[-1] in ("checkpoint", "ledger"), f"{old} is neither the old one nor the new one: {what}"
    for new, data in after.items():
        if ".tmp-" not in new:
            whole(new, data)
    if fault.endswith(":1") and operation != "unlink":
        assert not [n for n in after if ".tmp-" in n], f"a temporary file is left: {what}"


# functions of the C library that touch files, and why a fault of those that the kit leaves alone loses nothing
FILES = set("""access chmod chown close closedir copy_file_range creat dup2 faccessat fallocate fchmod fclose fcntl fdatasync fdopen fdopendir fgetc fgets flock fopen
    fopen64 fputc fputs fread freopen fseek fseeko fstat fstat64 fstatat fsync ftell ftello ftruncate ftruncate64 ftw fwrite getc getdelim getline glob lchown link linkat lockf
    lseek lseek64 lstat lstat64 mkdir mkdirat mkdtemp mkostemp mkstemp mkstemp64 mmap mmap64 msync nftw nftw64 open open64 openat openat64 opendir popen pread pread64
    preadv pwrite pwrite64 pwritev read readdir readdir64 readlink readlinkat readv realpath remove rename renameat renameat2 rewind rmdir scandir sendfile splice stat
    stat64 statx symlink sync syncfs syscall tempnam tmpfile tmpnam truncate unlink unlinkat utimensat write writev""".split())
LEFT = {"stream": "over open, read, write, close of the kit: fclose fgetc fgets fputc fputs fread fseek fseeko ftell ftello fwrite getc rewind",
        "descriptors": "no data: dup2 closedir",
        "names": "where a file leads, tried before it is opened or written: realpath readlink",
        "the lock's owner": "for a message alone: fcntl",
        "a browser's folder": "for pictures, below the temporary folder: mkdtemp nftw remove rmdir"}


def test_the_kit_knows_every_file_operation_of_the_programs():
    def symbols(which, path):
        listed = subprocess.run(["nm", "-D", which, path], capture_output=True, text=True, check=True).stdout
        return {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    used = symbols("--undefined-only", EXE) & FILES
    assert {"open", "write", "fsync", "rename", "fopen"} <= used
    assert used - symbols("--defined-only", KIT) <= {word for why in LEFT.values() for word in why.split(": ")[-1].split()}


@pytest.mark.parametrize("job", JOBS)
def test_every_file_operation_may_fail(places, job):
    start = places / re.sub(" ", "_", job)
    lay_out(job, start)
    before, work = files(start), places / "work"

    def again(fault=None):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(start, work)
        return run(job, work, fault)

    clean, operations, _ = again()
    assert clean.returncode == 0, clean.stderr
    after_clean = files(work)
    assert files(work) == after_clean and len(operations) > 5
    every = list(faults(operations))
    step = 1 if LONG else max(1, len(every) // SHARE)
    wrong = []
    for fault in every[sum(map(ord, job)) % step::step]:
        try:
            done, made, failed = again(fault)
            judge(fault, clean, before, after_clean, done, made, failed, files(work))
            if job in ("optimize resumed", "batch", "batch taken up") and done.returncode == 4:
                after_all = run(job, work)[0]      # the same command again brings it to its end
                assert after_all.returncode == 0 and lasting(work) == after_clean, f"{fault}: not taken up: {after_all.stderr}"
        except (AssertionError, subprocess.TimeoutExpired, ValueError, zipfile.BadZipFile) as e:
            wrong.append(f"{fault} {type(e).__name__}: {e}")
    assert not wrong, f"{len(wrong)} of {len(every[::step])}:\n" + "\n".join(wrong)
