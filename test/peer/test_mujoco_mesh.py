"""Mass, centre and inertia of meshes and primitive shells against MuJoCo: tensors to 2e-6 (its eigen-solver stops early)."""
import mujoco
import numpy as np
import pytest

from tangere import Sim
from test_mujoco import near, six, tensor

L_SHAPE = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 3], [0, 3]], float) * 0.1


def prism(outline, height):
    """Closed mesh over a polygon that is star-shaped about its first corner."""
    n = len(outline)
    v = [[x, y, z] for z in (0, height) for x, y in outline]
    f = [[0, i + 1, i] for i in range(1, n - 1)] + [[n, n + i, n + i + 1] for i in range(1, n - 1)]
    for i in range(n):
        j = (i + 1) % n
        f += [[i, j, n + j], [i, n + j, n + i]]
    return np.array(v), np.array(f)


def sphere_like(rng, wobble):
    """Star-shaped surface over an octahedron split twice, radii wobbling."""
    v = [np.array(p, float) for p in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    f = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(2):
        middle, finer = {}, []
        def mid(a, b):
            key = (min(a, b), max(a, b))
            if key not in middle:
                m = v[a] + v[b]
                middle[key] = len(v)
                v.append(m / np.linalg.norm(m))
            return middle[key]
        for a, b, c in f:
            p, q, r = mid(a, b), mid(b, c), mid(c, a)
            finer += [(a, p, r), (b, q, p), (c, r, q), (p, q, r)]
        f = finer
    return np.array([p * (0.2 + wobble * rng.uniform(-0.1, 0.1)) for p in v]) * [1, 2, 0.5] + [0.3, -0.2, 0.1], np.array(f)


def meshes():
    rng = np.random.default_rng(2)
    yield "L", *prism(L_SHAPE, 0.15)
    yield "egg", *sphere_like(rng, 0)
    yield "lumpy", *sphere_like(rng, 1)
    yield "hull", *prism(np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0, 5.5, 9)]) * 0.2, 0.4)


def write_obj(path, v, f):
    path.write_text("".join("v %.17g %.17g %.17g\n" % tuple(p) for p in v) + "".join("f %d %d %d\n" % tuple(t + 1) for t in f))


def write_stl(path, v, f):
    record = np.dtype([("normal", "<3f4"), ("corner", "<9f4"), ("count", "<u2")])
    data = np.zeros(len(f), record)
    data["corner"] = v[f].reshape(len(f), 9)
    path.write_bytes(b" " * 80 + np.uint32(len(f)).tobytes() + data.tobytes())


def compare(path):
    s, m = Sim(path), mujoco.MjModel.from_xml_path(str(path))
    for b in range(1, m.nbody):
        near(s.param("body_mass")[b, 0] / m.body_mass[b], 1, 2e-6, "mass")
        near(s.param("body_com")[b], m.body_ipos[b], 2e-6, "com")
        scale = np.abs(m.body_inertia[b]).max()
        near(s.param("body_inertia")[b] / scale, six(tensor(m, b)) / scale, 2e-6, "inertia")


@pytest.mark.parametrize("kind", ["exact", "shell", "convex", "legacy"])
@pytest.mark.parametrize("form", ["obj", "stl"])
@pytest.mark.parametrize("mesh", list(meshes()), ids=lambda m: m[0])
def test_mesh(tmp_path, mesh, form, kind):
    name, v, f = mesh
    (write_obj if form == "obj" else write_stl)(tmp_path / f"m.{form}", v, f)
    path = tmp_path / "m.xml"
    path.write_text(f"""<mujoco><asset><mesh name="m" file="m.{form}" inertia="{kind}" scale="1 -1.5 2"/></asset><worldbody>
      <body pos="1 2 3"><freejoint/><geom type="mesh" mesh="m" pos="0.1 0.2 0.3" euler="20 30 40" density="700"/>
        <geom type="sphere" size="0.1" pos="0.3 0 0"/></body></worldbody></mujoco>""")
    compare(path)


# MuJoCo gives an ellipsoid's shell a thickness of 1e-6 m, we none: at 0.1 m that alone is 2.6e-6, so a larger one is taken
@pytest.mark.parametrize("shell", ["false", "true"])
@pytest.mark.parametrize("geom", ['type="sphere" size="0.3"', 'type="capsule" size="0.1 0.4"', 'type="cylinder" size="0.2 0.3"',
                                  'type="ellipsoid" size="0.3 0.6 0.9"', 'type="box" size="0.1 0.2 0.4"'])
def test_primitive(tmp_path, geom, shell):
    path = tmp_path / "p.xml"
    path.write_text(f"""<mujoco><worldbody><body><freejoint/><geom {geom} pos="0.1 0.2 0.3" euler="20 30 40" density="700"
      shellinertia="{shell}"/></body></worldbody></mujoco>""")
    compare(path)
