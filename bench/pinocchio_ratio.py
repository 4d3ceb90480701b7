#!/usr/bin/env python3
"""Dynamics and their derivatives against Pinocchio's: chains of hinges and robots from URDF, in one run on one thread.

usage: build/venv/bin/python bench/pinocchio_ratio.py [--json]      (after: cmake --build --preset release, with bench on)

Theirs is called from Python. What a call costs there without its computation is taken off: the same call on an empty model (`overhead`), and for
calls that return matrices the copies of them. Ours are called from C; all of ours include the kinematics, since theirs do, and the
derivatives of forward dynamics return M^-1, dq'' /dq and dq''/dv, as theirs do. The robots are fixed by their bases in both. Results are compared
with ours by test/peer/test_pinocchio.py.
"""
import json
import pathlib
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import peers  # noqa: E402

SHARE = next(p for p in (d / "cmeel.prefix/share/example-robot-data/robots" for d in pathlib.Path(np.__file__).parents) if p.is_dir())
CHAINS = (5, 9, 18, 32)
ROBOTS = {"panda": "panda_description/urdf/panda.urdf", "solo12": "solo_description/robots/solo12.urdf", "talos": "talos_data/robots/talos_reduced.urdf",
          "g1": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf"}
WANTED = {"rnea": "", "crba": "", "rnea_d": "", "forward_d": "<= 1"}


def chain(n, path):
    """A chain of n hinges of 0.3 m as URDF."""
    inertial = '<inertial><origin xyz="0.15 0 0"/><mass value="1"/><inertia ixx=".002" iyy=".008" izz=".009" ixy="0" ixz="0" iyz="0"/></inertial>'
    parts = ['<robot name="chain"><link name="world"/>']
    for i in range(n):
        axis = ("0 1 0", "0 0 1", "1 0 0")[i % 3]
        parts.append(f'<link name="l{i}">{inertial}</link><joint name="j{i}" type="continuous"><parent link="{"world" if i == 0 else f"l{i - 1}"}"/>'
                     f'<child link="l{i}"/><origin xyz="{0.3 if i else 0} 0 0"/><axis xyz="{axis}"/></joint>')
    path.write_text("".join(parts) + "</robot>")


def fixed(name, path):
    """A copy of a robot without geometry, its root link hung in the world."""
    root = ET.parse(SHARE / name).getroot()
    for tag in ("transmission", "gazebo"):
        for element in root.findall(tag):
            root.remove(element)
    for link in root.iter("link"):
        for kind in ("visual", "collision"):
            for element in link.findall(kind):
                link.remove(element)
    children = {j.find("child").get("link") for j in root.iter("joint") if j.find("child") is not None}
    base = next(link.get("name") for link in root.findall("link") if link.get("name") not in children)
    if base != "world":
        ET.SubElement(root, "link", name="world")
        joint = ET.SubElement(root, "joint", name="world_to_base", type="fixed")
        ET.SubElement(joint, "parent", link="world")
        ET.SubElement(joint, "child", link=base)
    path.write_text(ET.tostring(root, encoding="unicode"))


def us(function, states):
    """Mean over the states of the least of 15 means of 8 calls, as bench_robot does."""
    total = 0.0
    for x in states:
        best = np.inf
        for _ in range(15):
            start = time.perf_counter_ns()
            for _ in range(8):
                function(*x)
            best = min(best, (time.perf_counter_ns() - start) / 8)
        total += best
    return total / len(states) / 1000


def theirs(path):
    model = pin.buildModelFromUrdf(str(path))
    data, n = model.createData(), model.nv
    rng = np.random.default_rng(1)
    states = [(pin.integrate(model, pin.neutral(model), rng.uniform(-0.5, 0.5, n)), rng.uniform(-0.5, 0.5, n), rng.uniform(-0.5, 0.5, n)) for _ in range(32)]
    only_q = [(x[0],) for x in states]
    empty = pin.Model()
    empty_data, z, square = empty.createData(), np.zeros(0), np.zeros((n, n))
    overhead = us(lambda q, v, a: pin.rnea(empty, empty_data, z, z, z), states)
    overhead_q = us(lambda q: pin.crba(empty, empty_data, z), only_q)
    copies = us(lambda q: (square.copy(), square.copy(), square.copy()), only_q)
    return n, {
        "rnea": us(lambda q, v, a: pin.rnea(model, data, q, v, a), states) - overhead,
        "crba": us(lambda q: pin.crba(model, data, q), only_q) - overhead_q,
        "rnea_d": us(lambda q, v, a: pin.computeRNEADerivatives(model, data, q, v, a), states) - overhead - copies,
        "forward_d": us(lambda q, v, a: pin.computeABADerivatives(model, data, q, v, a), states) - overhead - copies,
    }


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for n in CHAINS:
            files[f"chain {n}"] = pathlib.Path(folder) / f"chain{n}.urdf"
            chain(n, files[f"chain {n}"])
        for name, source in ROBOTS.items():
            files[name] = pathlib.Path(folder) / f"{name}.urdf"
            fixed(source, files[name])
        mine, shape = peers.ours([str(f) for f in files.values()])
        for name, path in files.items():
            n, their = theirs(path)
            assert n == shape[str(path)][0], (name, n, shape[str(path)])
            for what, want in WANTED.items():
                rows.append(peers.row(f"{what}: {name} ({n} dof)", mine[f"{what} {path}"], their[what], want))
    if "--json" in sys.argv:
        print(json.dumps({"peer": f"pinocchio {pin.__version__}", "rows": rows}))
    else:
        peers.show(rows)


main()
