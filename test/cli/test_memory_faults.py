"""Each allocation of the programs fails in turn, in our code and in the libraries' (test/support/alloc_fault.c, preloaded), once and from then
on: no crash, the exit code of a fault or what is done without it, nothing left out, and what was there before is there still, whole.
TANGERE_LONG=1 takes every allocation, else a share of them."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from test_faults import EXE, JOBS, ROOT, files, kit_loads, lay_out, whole

KIT = pathlib.Path(os.environ.get("TANGERE_ALLOC_FAULT_KIT") or ROOT / "build" / "release" / "test" / "alloc_fault.so")
LONG = bool(os.environ.get("TANGERE_LONG"))
SHARE = 8        # of the allocations of a job, in make test


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    assert KIT.exists() and kit_loads(), f"{KIT} is not built: cmake --build --preset release --target alloc_fault"
    folder = tmp_path_factory.mktemp("faults")
    (folder / "viewer.html").write_text('<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>')
    return folder


def run(job, folder, fault):
    """What the command did, and how often it allocated."""
    log = folder.parent / "log"
    log.unlink(missing_ok=True)
    env = {**os.environ, "LD_PRELOAD": str(KIT), "TANGERE_ALLOC_FAULT": fault, "TANGERE_ALLOC_LOG": str(log), "TANGERE_VIEWER": str(folder.parent / "viewer.html")}
    done = subprocess.run([EXE, *JOBS[job][0]], cwd=folder, capture_output=True, text=True, timeout=60, env=env)
    return done, int(log.read_text()) if log.exists() else 0


def judge(done, clean, before, after_clean, after):
    assert done.returncode >= 0, f"ended by signal {-done.returncode}"
    # a hash of an input that could not be read again is none, which is said, as in test_faults.py
    if done.returncode == clean.returncode and "has no hash of it" not in done.stderr:
        assert after == after_clean, f"exit {done.returncode}, and yet {[n for n in after_clean if after.get(n) != after_clean[n]]} differ"
        return
    assert done.returncode in (4, clean.returncode) and done.stderr.strip(), f"exit {done.returncode}: {done.stderr}"
    for name, data in before.items():
        assert name in after, f"{name} is gone"
        if after[name] not in (data, after_clean.get(name)):
            # what grows, and the best so far of a run whose journal ends early
            assert name.split("/")[-1] in ("checkpoint", "ledger") or "checkpoint" in " ".join(before), f"{name} is neither the old one nor the new one"
    for name, data in after.items():
        whole(name, data)
        assert ".tmp-" not in name, f"a temporary file is left: {name}"


@pytest.mark.parametrize("job", JOBS)
def test_every_allocation_may_fail(places, job):
    start = places / re.sub(" ", "_", job)
    lay_out(job, start)
    before, work = files(start), places / "work"

    def again(fault):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(start, work)
        return run(job, work, fault)

    clean, count = again("0:0")
    assert clean.returncode == 0 and count > 50, clean.stderr
    after_clean = files(work)
    every = [f"{n}:{times}" for n in range(1, count + 1) for times in (1, 0)]
    # an odd stride takes both kinds
    step = 1 if LONG else max(1, len(every) // SHARE) | 1
    wrong = []
    for fault in every[sum(map(ord, job)) % step::step]:
        done = None
        try:
            done = again(fault)[0]
            judge(done, clean, before, after_clean, files(work))
        except (AssertionError, subprocess.TimeoutExpired, ValueError) as e:
            wrong.append(f"{fault} {type(e).__name__}: {e} {done.stderr if done else ''}")
    assert not wrong, f"{len(wrong)} of {len(every[::step])}:\n" + "\n".join(wrong)
