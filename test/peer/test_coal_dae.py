"""COLLADA meshes (read by assimp in a child process) against coal's reader on the robots of example-robot-data: same places, sizes, volumes."""
import re

import coal
import numpy as np
import pytest

from robots import SHARE
from tangere import Sim

FILES = sorted(SHARE.rglob("*.dae"), key=lambda path: path.stat().st_size)
CUBE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit name="inch" meter="{meter}"/><up_axis>{up}</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node><translate>10 0 0</translate><node><rotate>0 0 1 90</rotate>
<instance_geometry url="#g"/></node></node><node><translate>0 0 5</translate><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
ROBOT = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>"""


def volume(vert, face):
    a, b, c = (vert[face[:, k]] - vert.mean(axis=0) for k in range(3))
    return float(np.sum(a * np.cross(b, c)) / 6)


def ours(tmp_path, name, text):
    (tmp_path / name).write_bytes(text)
    (tmp_path / "r.urdf").write_text(ROBOT.format(name))
    s = Sim(tmp_path / "r.urdf")
    return np.array(s.field("mesh_vert")).reshape(-1, 3), np.array(s.field("mesh_face"), int).reshape(-1, 3)


@pytest.fixture(autouse=True)
def with_assimp(tmp_path):
    try:
        ours(tmp_path, "probe.dae", CUBE.format(meter=1, up="Z_UP").encode())
    except RuntimeError as error:
        if "no assimp" in str(error):
            pytest.skip("built without assimp")
        raise


def test_units_and_nodes(tmp_path):
    tetra = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], float)
    turned = tetra @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + [10, 0, 0]
    want = np.sort(np.concatenate([turned, tetra + [0, 0, 5]]), axis=0)
    for meter in (1, 0.0254):
        for up in ("Z_UP", "Y_UP", "X_UP"):   # the axes are those of the file, whatever it calls them
            vert, face = ours(tmp_path, "two.dae", CUBE.format(meter=meter, up=up).encode())
            assert len(face) == 8
            assert np.abs(np.sort(vert, axis=0) - meter * want).max() < 1e-5 * meter
            assert abs(volume(vert[:, :], face) - 2 * meter**3) < 1e-5 * meter**3


def test_robots_of_example_robot_data(tmp_path):
    files = [f for f in FILES if f.stat().st_size < 1_000_000]
    compared = weighed = 0
    for path in files[::max(1, len(files) // 40)]:
        text = path.read_bytes()
        unit = re.search(rb'meter="([^"]*)"', text)
        unit = float(unit.group(1)) if unit else 1.0
        try:
            vert, face = ours(tmp_path, path.name, text)
        except RuntimeError as error:
            assert "no convex hull" in str(error), f"{path}: {error}"     # flat meshes, which cannot collide
            continue
        model = coal.MeshLoader().load(str(path), np.full(3, unit))
        theirs = np.array(model.vertices())
        faces = np.array([[t[0], t[1], t[2]] for t in (model.tri_indices(i) for i in range(model.num_tris))])
        size = np.ptp(theirs, axis=0).max()
        assert np.abs(vert.min(axis=0) - theirs.min(axis=0)).max() < 1e-5 * size, path
        assert np.abs(vert.max(axis=0) - theirs.max(axis=0)).max() < 1e-5 * size, path
        if len(re.findall(rb"<(?:triangles|polylist|polygons|trifans|tristrips)\b", text)) == 1:
            # of several, coal 3.0.3 numbers the corners of all from the first vertex
            assert abs(volume(vert, face) - volume(theirs, faces)) < 1e-4 * size**3, path
            weighed += 1
        compared += 1
    print(f"{compared} COLLADA files agree with coal, {weighed} in volume too")
    assert compared >= 25 and weighed >= 15


def test_bad_documents(tmp_path):
    good = CUBE.format(meter=1, up="Z_UP")
    cases = [good[: len(good) // 2], "<COLLADA/>", good.replace("0 2 1 0 1 3", "0 2 1 0 1 99"), good.replace("0 0 0 1 0 0", "0 0 0 nan 0 0"),
             good.replace("<instance_geometry", "<instance_nothing"), "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><COLLADA>&e;</COLLADA>"]
    for text in cases:
        with pytest.raises(RuntimeError, match="bad.dae"):
            ours(tmp_path, "bad.dae", text.encode())
