"""kill -9 at random moments of an optimisation and of what follows it, taken up by the same command until it comes to its end: the folder is
that of a run that nothing disturbed, byte for byte, and nothing else lies in it. TANGERE_LONG=1 kills 500 times, else 20 times."""
import os
import random
import re
import subprocess
import time

import pytest

from command_line import EXE, ROOT

KILLS = 500 if os.environ.get("TANGERE_LONG") else 20
METHODS = ["adam", "descent", "bundle", "lbfgs", "random", "cem", "ddp", "ilqr", "gauss_newton", "shooting"]

# an arm that comes down on a floor
MODEL = """<mujoco><option timestep="0.02"/><worldbody><geom name="floor" type="plane" size="5 5 1" friction="0.5"/>
<body name="upper" pos="0 0 0.7"><joint name="shoulder" axis="0 1 0" damping="0.05"/><geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.04"/>
<body name="fore" pos="0.4 0 0"><joint name="elbow" axis="0 1 0" damping="0.05"/><geom name="fore" type="capsule" fromto="0 0 0 0.4 0 0" size="0.04"/></body></body></worldbody>
<actuator><motor joint="shoulder" gear="5"/><motor joint="elbow" gear="3"/></actuator><contact><exclude body1="upper" body2="fore"/></contact></mujoco>"""
TASK = """model: m.xml
contact: CONTACT
horizon: {steps: 40}
controls: {every: 5}
losses:
- {term: body_position, name: fore, target: [0.1, 0, 0.5], weight: 5}
- {term: velocity, weight: 0.1}
- {term: control, weight: 1.0e-3}
optimizer: {method: METHOD, iterations: 6, population: 4, elites: 2, rate: 0.05, sigma: 0.3}
verify: {rows: [finer], distance: 1.0e-9}
"""
MORE = {"": "", " receding": "receding: {horizon: 20, apply: 10}\n", " stages": "refine: [{timestep: 0.01, iterations: 3}, {method: lbfgs, iterations: 2}]\n",
        " initial": "initial: [{joint: elbow, part: position, low: -1, high: 1}]\n", " attempts": "refine: [{iterations: 2}]\n"}
# two starts in each of two attempts, of which none holds, each with its stage
TWICE = {"controls: {every: 5}": "controls: {every: 5, start_noise: 0.3}", "iterations: 6": "iterations: 2, starts: 2, attempts: 2"}
JOBS = [method + more for more in MORE for method in METHODS if more in ("", " receding") or method in ("adam", "ilqr")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    (folder / "m.xml").write_text(MODEL)
    (folder / "viewer.html").write_text('<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>')
    for job in JOBS:
        method, _, more = job.partition(" ")
        text = TASK.replace("METHOD", method).replace("CONTACT", "softmin" if method == "ddp" else "lcp")
        for was, becomes in TWICE.items() if more == "attempts" else ():
            text = text.replace(was, becomes)
        (folder / f"{job}.yaml").write_text(text + MORE[f" {more}" if more else ""])
    return folder


def command(place, job, out, *more):
    return dict(args=[EXE, "optimize", f"{job}.yaml", "--threads", "1", "--out", out, *more], cwd=place, env={**os.environ, "TANGERE_VIEWER": str(place / "viewer.html")},
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def files(folder):
    return {p.relative_to(folder).as_posix(): re.sub(rb'"seconds": *[0-9.e+-]+', b'"seconds": 0', p.read_bytes()) for p in folder.rglob("*") if p.is_file()}


def test_killed_at_any_moment_and_taken_up(place):
    chance, whole, killed, jobs = random.Random(22), {}, 0, []
    while killed < KILLS:
        jobs = jobs or chance.sample(JOBS, len(JOBS))
        job = jobs.pop()
        if job not in whole:
            began = time.monotonic()
            done = subprocess.run(timeout=120, **command(place, job, f"{job} whole"))
            assert done.returncode == 3, f"{job}: {done.returncode} {done.stderr}"
            whole[job] = files(place / f"{job} whole"), time.monotonic() - began
        wanted, seconds = whole[job]
        out = place / f"{job} {killed}"
        resume, dead = [], 0
        while True:
            p = subprocess.Popen(**command(place, job, out.name, *resume))
            try:
                p.communicate(timeout=chance.uniform(0.05, 1) * seconds if dead < 2 else 120)
            except subprocess.TimeoutExpired:
                p.kill()
                p.communicate()
                killed += 1
                dead += 1
                resume = ["--resume"]
                continue
            break
        assert p.returncode == 3, f"{job}, killed {dead} times: {p.returncode}"
        found = files(out)
        assert found == wanted, f"{job}, killed {dead} times: {sorted(set(found) ^ set(wanted)) or [n for n in wanted if found[n] != wanted[n]]}"
