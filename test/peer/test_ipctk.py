"""The barrier of distances (contact model `ipc`) against ipctk: distances, mollifier and barrier of four points, and the sum over two meshes."""
import os
import pathlib
import subprocess

import numpy as np
import pytest

from tangere import Sim

ipctk = pytest.importorskip("ipctk", reason="ipctk has no package for this platform")
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = pathlib.Path(os.environ.get("TG_BUILD", ROOT / "build/release")) / "test/distance_sample"
BARRIER = ipctk.NormalizedClampedLogBarrier()


def ours(sites, reach, everywhere=False):
    text = "\n".join(f"{int(edges)} {reach!r} {int(everywhere)} " + " ".join(repr(float(v)) for v in x.ravel()) for edges, x in sites)
    out = subprocess.run([SAMPLE], input=text, capture_output=True, text=True, check=True).stdout
    rows = np.array([[float(v) for v in line.split()] for line in out.splitlines()])
    assert rows.shape == (len(sites), 2 + 2 * 156)
    return rows


def close(a, b, tolerance, what):
    size = max(np.abs(b).max(), 1e-300)
    assert np.abs(np.asarray(a) - b).max() <= tolerance * size, f"{what}: {np.abs(np.asarray(a) - b).max() / size:.2e} of its size"


def random_sites(rng, n):
    """Points and triangles, and edges, about as far apart as they are large; every fourth two edges are within the mollifier."""
    sites = []
    for i in range(n):
        x = rng.uniform(-1, 1, (4, 3))
        edges = i % 2 == 1
        if edges and i % 4 == 3:
            x[3] = x[2] + (x[1] - x[0]) * rng.uniform(0.5, 2) + rng.uniform(-1, 1, 3) * 10 ** rng.uniform(-3, -1.7)
        sites.append((edges, x))
    return sites


def theirs(edges, x, D0):
    """D with its derivatives, and m b(D) with its, by the product rule from ipctk's parts."""
    f = [getattr(ipctk, ("edge_edge" if edges else "point_triangle") + "_distance" + s)(*x) for s in ("", "_gradient", "_hessian")]
    D, g, H = f
    b, b1, b2 = BARRIER(D, D0), BARRIER.first_derivative(D, D0), BARRIER.second_derivative(D, D0)
    m, mg, mH = 1.0, np.zeros(12), np.zeros((12, 12))
    if edges:
        eps = ipctk.edge_edge_mollifier_threshold(*x)
        m, mg, mH = (getattr(ipctk, "edge_edge_mollifier" + s)(*x, eps) for s in ("", "_gradient", "_hessian"))
    bg = b1 * g
    bH = b1 * H + b2 * np.outer(g, g)
    return D, g, H, m * b, m * bg + b * mg, m * bH + np.outer(mg, bg) + np.outer(bg, mg) + b * mH, m


def test_four_points():
    rng = np.random.default_rng(3)
    reach = 1.5
    sites = random_sites(rng, 1000)
    seen, mollified, felt = set(), 0, 0
    for (edges, x), row in zip(sites, ours(sites, reach)):
        D, g, H, P, Pg, PH, m = theirs(edges, x, reach**2)
        kind = ipctk.edge_edge_distance_type(*x) if edges else ipctk.point_triangle_distance_type(*x)
        close(row[0], D, 1e-10, "D")
        close(row[2:14], g, 1e-10, "gradient of D")
        close(row[14:158].reshape(12, 12), H, 1e-9 if m < 1 else 1e-10, "Hessian of D")
        if D >= reach**2:
            assert np.all(row[1] == 0) and np.all(row[158:] == 0)
            continue
        seen.add(str(kind))
        felt += 1
        mollified += m < 1
        close(row[1], P, 1e-10, "P")
        close(row[158:170], Pg, 1e-10, "gradient of P")
        close(row[170:].reshape(12, 12), PH, 1e-10, "Hessian of P")
    assert len(seen) == 16 and mollified > 100 and felt > 500, (sorted(seen), mollified, felt)   # 7 of a point, 9 of two edges


def test_everywhere():
    rng = np.random.default_rng(4)
    sites = random_sites(rng, 200)
    for (edges, x), row in zip(sites, ours(sites, 0.1, everywhere=True)):
        D, g, H, _, _, _, m = theirs(edges, x, 1.0)
        if m < 1:
            continue
        close(row[1], -np.log(D / 0.01), 1e-10, "P")
        close(row[158:170], -g / D, 1e-10, "gradient of P")
        close(row[170:].reshape(12, 12), np.outer(g, g) / D**2 - H / D, 1e-10, "Hessian of P")


def write_mesh(path, vert, face):
    path.write_text("".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in vert.tolist()) + "".join("f " + " ".join(str(k + 1) for k in f) + "\n" for f in face))


def lumpy(rng, rings, sides):
    """A closed surface of triangles about a sphere with uneven radii."""
    vert, face = [[0, 0, 1]], []
    for i in range(1, rings):
        for j in range(sides):
            t, p = np.pi * i / rings, 2 * np.pi * (j + 0.5 * (i % 2)) / sides
            vert.append([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)])
    vert.append([0, 0, -1])
    last = len(vert) - 1
    for j in range(sides):
        k = (j + 1) % sides
        face.append([0, 1 + j, 1 + k])
        face.append([last, last - sides + k, last - sides + j])
        for i in range(rings - 2):
            a, b = 1 + i * sides, 1 + (i + 1) * sides
            face += [[a + j, b + j, a + k], [a + k, b + j, b + k]]
    vert = np.array(vert, float)
    return 0.05 * vert * (1 + 0.2 * rng.uniform(-1, 1, (len(vert), 1))), np.array(face)


XML = """<mujoco><option gravity="0 0 0"/><asset><mesh name="a" file="a.obj"/><mesh name="b" file="b.obj"/></asset><worldbody>
<body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="a"/></body>
<body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="b"/></body></worldbody></mujoco>"""


def cube(half):
    vert = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float) * half
    face = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])
    return vert, face


def rotation(q):
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


@pytest.mark.parametrize("shapes", ["lumpy", "cubes"])
def test_two_meshes(tmp_path, shapes):
    """Energy and gradient of the whole sum; of cubes that lie square to each other, with mollified edges and equal distances."""
    rng = np.random.default_rng(5)
    made = [lumpy(rng, 6, 8), lumpy(rng, 5, 7)] if shapes == "lumpy" else [cube(0.05), cube(0.04)]
    for name, (vert, face) in zip("ab", made):
        write_mesh(tmp_path / f"{name}.obj", vert, face)
    (tmp_path / "m.xml").write_text(XML)
    sim = Sim(tmp_path / "m.xml", contact="ipc")
    weight, reach = float(sim.param("contact.weight")[0, 0]), 0.01
    mesh_vert = np.array(sim.field("mesh_vert")).reshape(-1, 3)
    first = np.cumsum([0] + [len(v) for v, _ in made])
    place = [sim.field("geom_pos"), sim.field("geom_quat")]
    faces = np.vstack([made[0][1], made[1][1] + first[1]])
    mesh = ipctk.CollisionMesh(np.vstack([v for v, _ in made]), ipctk.edges(faces), faces)
    mesh.can_collide = ipctk.make_vertex_patches_filter(np.repeat([0, 1], np.diff(first)))   # not within a body
    felt = 0
    for trial in range(150):
        turn = rng.normal(size=(2, 4)) if shapes == "lumpy" else np.array([[1, 0, 0, 0], [1, *(1e-3 * (trial % 3) * rng.uniform(-1, 1, 3))]])
        way = rng.normal(size=3) if shapes == "lumpy" else np.array([1, *rng.uniform(-1.5, 1.5, 2)])
        q = np.zeros(14)
        q[3:7], q[10:14] = turn[0] / np.linalg.norm(turn[0]), turn[1] / np.linalg.norm(turn[1])
        q[7:10] = (0.09 + 0.001 * rng.uniform(1, 9)) * way / (np.linalg.norm(way) if shapes == "lumpy" else np.abs(way).max())
        sim.qpos[:] = q
        try:
            energy, gradient = sim.contact_potential()
        except RuntimeError as error:
            assert "touch" in str(error)
            continue
        world = []
        for k in range(2):
            own = mesh_vert[first[k]:first[k + 1]] @ rotation(np.array(place[1][k])).T + place[0][k]
            world.append(own @ rotation(q[7 * k + 3:7 * k + 7]).T + q[7 * k:7 * k + 3])
        x = np.vstack(world)
        collisions = ipctk.NormalCollisions()
        collisions.build(mesh, x, reach)
        potential = ipctk.BarrierPotential(BARRIER, reach, 1.0)
        P = potential(collisions, mesh, x)
        g = potential.gradient(collisions, mesh, x).reshape(-1, 3)
        expected = []
        for k in range(2):
            part, arm = g[first[k]:first[k + 1]], world[k] - q[7 * k:7 * k + 3]
            expected += [part.sum(axis=0), rotation(q[7 * k + 3:7 * k + 7]).T @ np.cross(arm, part).sum(axis=0)]
        if P == 0:
            assert energy == 0
            continue
        felt += 1
        close(energy, weight * P, 1e-10, "energy")
        close(gradient, weight * np.concatenate(expected), 1e-9, "gradient")
    assert felt > 20, felt
