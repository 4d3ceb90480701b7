"""Each allocation of the module and of the libraries behind it fails in turn (test/support/alloc_fault.c, preloaded), once and from then on:
MemoryError or tangere.Error that says so, and the next call does what it always does. TANGERE_LONG=1 takes every allocation."""
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARE = 0 if os.environ.get("TANGERE_LONG") else 25        # of the allocations of a job; 0: all

TASK = """model: m.xml
contact: lcp
horizon: {steps: 12, timestep: 0.01}
controls: {every: 4, low: -3, high: 3}
losses: [{term: body_position, name: puck, target: [0.2, 0, 0.1], weight: 1}]
optimizer: {method: adam, iterations: 3}
"""
MODEL = """<mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="5 5 0.1"/>
<body name="puck" pos="0 0 0.1"><joint name="x" type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody>
<actuator><motor name="push" joint="x"/></actuator></mujoco>
"""
CHILD = textwrap.dedent("""
    import ctypes, json, os, sys, traceback
    import numpy as np
    import tangere as tg

    kit = ctypes.CDLL(sys.argv[1])
    kit.tgt_alloc_fault.argtypes = [ctypes.c_long, ctypes.c_long]
    kit.tgt_alloc_fault_end.restype = ctypes.c_long
    share = int(sys.argv[3])

    def load():
        return tg.load("m.xml").field("body_mass")[1]

    def simulate():
        with tg.Sim(model) as s:
            for _ in range(3):
                s.step(np.array([1.0]))
            r = s.rollout(np.full((5, 1), 0.5))
            return float(s.vjp(gq=np.ones(1)).q[0]), float(r.q[-1, 0]), float(r.backward(dq=r.q).u.sum())

    def optimize():
        told = []
        found = tg.Task("t.yaml").optimize(threads=1, progress=lambda p: told.append(p["loss"]))
        return found.loss, len(told)

    def told(n, times):
        # in a process of its own; 0: it was said, 1: it did no harm
        kit.tgt_alloc_fault(n, times)
        try:
            got = job()
            kit.tgt_alloc_fault_end()
            assert got == wanted, got
            harmless = 1
        except (MemoryError, tg.Error) as e:
            kit.tgt_alloc_fault_end()
            assert isinstance(e, MemoryError) or "memory" in str(e).lower(), e
            harmless = 0
        assert job() == wanted
        return harmless

    job = dict(load=load, simulate=simulate, optimize=optimize)[sys.argv[2]]
    model = tg.load("m.xml")
    wanted = job()
    kit.tgt_alloc_fault(0, 0)
    job()
    count = kit.tgt_alloc_fault_end()
    ends = []
    for n in range(1, count + 1, max(1, count // share) if share else 1):
        for times in (1, 0):
            pid = os.fork()
            if pid == 0:
                code = 3
                try:
                    code = told(n, times)
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            if ends[-1] not in (0, 1):
                print("allocation", n, times, "ends with", ends[-1], file=sys.stderr)
    print(json.dumps(dict(allocations=count, told=ends.count(0), harmless=ends.count(1), ended=ends.count(-6), wrong=len([e for e in ends if e not in (0, 1, -6)]))))
""")


# not the interpreter's own: nanobind ends the process where one of these fails ("Critical nanobind error"), and glibc where it has no room
# for a thread's variables
OF = "_tangere:libstdc++:libexpat:libyaml:libcyaml:libqhull:libz.so"


@pytest.mark.parametrize("job", ["load", "simulate", "optimize"])
def test_an_allocation_of_the_module_and_its_libraries_fails(tmp_path, job):
    kit = pathlib.Path(os.environ.get("TANGERE_ALLOC_FAULT_KIT") or ROOT / "build" / "release" / "test" / "alloc_fault.so")
    assert kit.exists(), f"{kit} is not built: cmake --build --preset release --target alloc_fault"
    for name, text in (("m.xml", MODEL), ("t.yaml", TASK), ("child.py", CHILD)):
        (tmp_path / name).write_text(text)
    env = {**os.environ, "LD_PRELOAD": str(kit), "TANGERE_ALLOC_OF": OF}
    done = subprocess.run([sys.executable, "child.py", kit, job, str(SHARE)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
    found = json.loads(done.stdout)
    print(job, found)
    # nanobind ends the process in one allocation of those that wrap what is returned: its function may not throw
    assert found["wrong"] == 0 and found["ended"] <= 2, done.stderr
    assert found["allocations"] > 50 and found["told"] > 20, found
