"""Every URDF of example-robot-data and of pybullet as it is, meshes and all: what loads has MuJoCo's bodies and joints in MuJoCo's order,
places and axes; what is refused is refused for a reason that stands here."""
import collections
import importlib.util
import pathlib
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest

from robots import SHARE
from tangere import Sim
from test_mujoco import near

PYBULLET = pathlib.Path(importlib.util.find_spec("pybullet_data").origin).parent
FILES = sorted(SHARE.rglob("*.urdf")) + sorted(p for p in PYBULLET.rglob("*.urdf") if "random_urdfs" not in p.parts)

# why files are refused: part of the message, and how many at most
REASONS = {
    "no rigid body has the principal moments": 7,    # MuJoCo refuses them too
    "this build has no assimp": 13,
    "its inertia is not positive": 5,
    "has mass; give it an inertial": 1,
    "No such file": 1,
    "but has no <inertial>": 2,
    "must be positive": 4,
    "not well-formed XML": 3,
    "run xacro first": 1,
    "unknown element": 4,
    "unknown attribute": 1,
    "is above its upper limit": 1,
    "is not a number": 1,
    "scale needs": 1,
    "rpy needs": 1,
    "second <axis>": 1,
    "has no link": 1,
    "which does not exist": 1,
    "at least 3 corners": 1,
    "is spherical, where lower and upper say nothing": 1,
}


def load(path):
    try:
        return Sim(path, fixed_base=True), None
    except RuntimeError as error:
        return None, str(error)


def in_mujoco(path):
    """The robot without geometry in MuJoCo, None when it refuses it."""
    try:
        root = ET.parse(path).getroot()
        for link in root.findall("link"):
            for kind in ("visual", "collision"):
                for element in link.findall(kind):
                    link.remove(element)
        for element in root.findall("mujoco"):
            root.remove(element)
        ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", fusestatic="false")
        return mujoco.MjModel.from_xml_string(ET.tostring(root).decode())
    except (ValueError, ET.ParseError):
        return None


def test_files():
    refused, agree = collections.Counter(), 0
    for path in FILES:
        s, reason = load(path)
        if s is None:
            known = [word for word in REASONS if word in reason]
            assert known, reason
            refused[known[0]] += 1
            continue
        m = in_mujoco(path)
        if m is None:
            continue
        assert s.names("joint") == [m.joint(i).name for i in range(m.njnt)], path
        assert s.names("body") == [m.body(i).name for i in range(m.nbody)], path
        assert (s.nq, s.nv) == (m.nq, m.nv), path
        near(s.field("body_pos"), m.body_pos, 1e-12, f"{path}: pos")
        turned = np.abs(np.sum(s.field("body_quat") * m.body_quat, axis=1))
        near(turned, np.ones(m.nbody), 1e-12, f"{path}: quat")
        near(s.field("jnt_axis"), m.jnt_axis, 1e-12, f"{path}: axis")
        near(s.param("body_mass")[1:, 0], m.body_mass[1:], 1e-12, f"{path}: mass")
        agree += 1
    print(f"{len(FILES)} files, {len(FILES) - sum(refused.values())} load, {agree} agree with MuJoCo; refused: {dict(refused)}")
    assert agree >= 100
    for word, count in refused.items():
        assert count <= REASONS[word], (word, count)


PLANAR = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="planar"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""


def test_planar(tmp_path):
    path = tmp_path / "planar.urdf"
    path.write_text(PLANAR)
    s, m = Sim(path, fixed_base=True), mujoco.MjModel.from_xml_path(str(path))
    assert (s.nq, s.nv) == (m.nq, m.nv) == (3, 3)
    near(s.field("jnt_axis"), m.jnt_axis, 1e-12, "axis")
