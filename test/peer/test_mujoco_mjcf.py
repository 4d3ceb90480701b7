"""What the MJCF loader makes of a file against what MuJoCo's compiler makes of it, element by element: defaults, classes, frames, units,
limits, actuators, tendons, equalities, keyframes; on every MJCF that gymnasium ships and on one of our own that mixes everything."""
import json
import pathlib
import struct
import subprocess
import zlib

import gymnasium
import mujoco
import numpy as np
import pytest

from tangere import ROOT, Sim

ASSETS = pathlib.Path(gymnasium.__file__).parent / "envs/mujoco/assets"
OWN = pathlib.Path(__file__).resolve().parents[1] / "data/mjcf/everything.xml"
FREE, BALL, SLIDE, HINGE = range(4)
GEOM_TYPE = [0, 2, 3, 4, 5, 6, 7]       # tgGeomType to mjtGeom


@pytest.fixture(scope="module", params=sorted(ASSETS.glob("*.xml")) + [OWN], ids=lambda path: path.stem)
def pair(request):
    return Sim(request.param), mujoco.MjModel.from_xml_path(str(request.param))


def near(a, b, what, tolerance=1e-12):
    a, b = np.asarray(a, float), np.asarray(b, float)
    a = a.reshape(b.shape)
    worst = np.abs(a - b).max(initial=0) / max(1.0, np.abs(b).max(initial=0))
    assert worst <= tolerance, f"{what}: {worst:.3g}\n{a}\n{b}"


def near_quat(a, b, what):
    b = np.asarray(b).reshape(-1, 4)
    a = np.asarray(a).reshape(-1, 4)
    sign = np.sign((a * b).sum(axis=1, keepdims=True))
    near(a * sign, b, what)


def test_names_and_counts(pair):
    s, m = pair
    objects = {"body": mujoco.mjtObj.mjOBJ_BODY, "joint": mujoco.mjtObj.mjOBJ_JOINT, "geom": mujoco.mjtObj.mjOBJ_GEOM,
               "site": mujoco.mjtObj.mjOBJ_SITE, "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR, "tendon": mujoco.mjtObj.mjOBJ_TENDON}
    counts = {"body": m.nbody, "joint": m.njnt, "geom": m.ngeom, "site": m.nsite, "actuator": m.nu, "tendon": m.ntendon}
    for kind, what in objects.items():
        assert s.names(kind) == [mujoco.mj_id2name(m, what, i) or "" for i in range(counts[kind])]


def test_options(pair):
    s, m = pair
    for name in ("timestep", "gravity", "density", "viscosity", "wind"):
        near(s.field("opt_" + name), getattr(m.opt, name), name)


def test_bodies(pair):
    s, m = pair
    near(s.field("body_pos"), m.body_pos, "pos")
    near_quat(s.field("body_quat"), m.body_quat, "quat")
    near(s.field("body_parent")[1:], m.body_parentid[1:], "parent")
    near(s.field("body_gravcomp"), m.body_gravcomp, "gravcomp")


def test_joints(pair):
    s, m = pair
    near(s.field("jnt_type"), m.jnt_type, "type")
    near(s.field("jnt_body"), m.jnt_bodyid, "body")
    near(s.field("jnt_limited"), m.jnt_limited, "limited")
    near(s.field("jnt_actfrclimited"), m.jnt_actfrclimited, "actuatorfrclimited")
    near(s.field("jnt_stiffness"), m.jnt_stiffness, "stiffness")
    near(s.field("qpos0"), m.qpos0, "qpos0")
    near(s.field("qpos_spring"), m.qpos_spring, "qpos_spring")
    for name in ("damping", "armature", "frictionloss"):
        near(s.field("dof_" + name), getattr(m, "dof_" + name), name)
    for i in range(m.njnt):
        if m.jnt_type[i] != FREE:
            near(s.field("jnt_pos")[i], m.jnt_pos[i], f"pos of joint {i}")
        if m.jnt_type[i] in (SLIDE, HINGE):
            near(s.field("jnt_axis")[i], m.jnt_axis[i], f"axis of joint {i}")
        if m.jnt_limited[i]:
            near(s.field("jnt_range")[i], m.jnt_range[i], f"range of joint {i}")
        if m.jnt_actfrclimited[i]:
            near(s.field("jnt_actfrcrange")[i], m.jnt_actfrcrange[i], f"actuatorfrcrange of joint {i}")


def test_geoms(pair):
    s, m = pair
    near([GEOM_TYPE[t] for t in s.field("geom_type")[:, 0]], m.geom_type, "type")
    near(s.field("geom_body"), m.geom_bodyid, "body")
    for name in ("contype", "conaffinity", "condim", "priority", "group"):
        near(s.field("geom_" + name), getattr(m, "geom_" + name), name)
    near(s.field("geom_friction")[:, 0], m.geom_friction[:, 0], "friction")
    near(s.field("geom_spinfriction"), m.geom_friction[:, 1:], "torsional and rolling friction")
    near(s.field("geom_pos"), m.geom_pos, "pos")
    near_quat(s.field("geom_quat"), m.geom_quat, "quat")
    used = [3, 1, 2, 3, 2, 3, 0]
    for i, t in enumerate(s.field("geom_type")[:, 0]):
        near(s.field("geom_size")[i][:used[t]], m.geom_size[i][:used[t]], f"size of geom {i}")


def test_sites(pair):
    s, m = pair
    if m.nsite == 0:
        pytest.skip("no sites")
    near(s.field("site_pos"), m.site_pos, "pos")
    near_quat(s.field("site_quat"), m.site_quat, "quat")
    near(s.field("site_body"), m.site_bodyid, "body")


def test_actuators(pair):
    s, m = pair
    if m.nu == 0:
        pytest.skip("no actuators")
    near(s.field("act_gear"), m.actuator_gear, "gear")
    near(s.field("act_target"), m.actuator_trnid[:, 0], "target")
    near(s.field("act_ctrllimited"), m.actuator_ctrllimited, "ctrllimited")
    near(s.field("act_forcelimited"), m.actuator_forcelimited, "forcelimited")
    near(s.field("act_gain"), m.actuator_gainprm[:, :3] * np.where(m.actuator_gaintype[:, None] == 0, [1, 0, 0], 1), "gain")
    near(s.field("act_bias"), m.actuator_biasprm[:, :3] * (m.actuator_biastype[:, None] != 0), "bias")
    for i in range(m.nu):
        if m.actuator_ctrllimited[i]:
            near(s.field("act_ctrlrange")[i], m.actuator_ctrlrange[i], f"ctrlrange {i}")
        if m.actuator_forcelimited[i]:
            near(s.field("act_forcerange")[i], m.actuator_forcerange[i], f"forcerange {i}")


RATIOS = """<mujoco>%s<default><default class="servo"><position dampratio="0.8" kp="30"/></default></default>
<worldbody><body pos="0 0 1"><joint name="a" axis="0 1 0" springdamper="0.3 0.7" armature="0.01"/><geom size=".1" pos=".2 0 .1"/>
<body pos=".5 0 .1"><joint name="b" type="ball" springdamper="0.2 1.1" stiffness="3" damping="4"/><geom size=".1 .2 .05" type="box" pos=".1 .1 .1"/>
<body pos=".3 .3 0" euler="10 20 30"><joint name="c" axis="1 1 0" type="slide" pos=".1 .2 .3"/><joint name="d" axis="0 1 0.4" pos="0 .1 0" ref="20"/>
<geom size=".1 .2 .05" type="box" pos=".1 .1 .1"/></body></body></body>
<body quat="1 .2 .3 .4" pos="1 2 3"><joint name="f" type="free" springdamper=".1 1"/><geom type="box" size=".1 .2 .3" pos=".1 0 .2"/></body></worldbody>
<tendon><fixed name="t"><joint joint="a" coef="2"/><joint joint="d" coef="-.5"/></fixed></tendon>
<actuator><position joint="d" kp="50" dampratio="0.8" gear="3"/><position tendon="t" kp="20" dampratio="1" gear="2"/>
<position joint="b" gear="1 2 3" kp="5" dampratio=".5"/><position joint="f" gear="1 2 3 4 5 6" kp="5" dampratio=".5"/>
<position joint="a" gear="0" kp="5" dampratio=".5"/><intvelocity joint="d" kp="3" dampratio="1" actrange="-1 1"/><position joint="c" class="servo"/>
<position joint="c" class="servo" kv="2"/><position joint="c" class="servo" dampratio="2"/><general joint="c" class="servo"/>
<general joint="d" gainprm="7" biasprm="0 -7 .4" biastype="affine"/><general joint="d" gainprm="7" biasprm="0 -6 .4" biastype="affine"/>
<general joint="d" gainprm="7 1 1" gaintype="affine" biasprm="0 -7 .4" biastype="affine"/><position joint="d" kp="0" dampratio="1"/></actuator></mujoco>"""


@pytest.mark.parametrize("compiler", ["", '<compiler settotalmass="3"/>'])
def test_damping_ratios(compiler, tmp_path):
    (tmp_path / "m.xml").write_text(RATIOS % compiler)
    s, m = Sim(tmp_path / "m.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    near(s.field("jnt_stiffness"), m.jnt_stiffness, "stiffness")
    near(s.field("dof_damping"), m.dof_damping, "damping")
    near(s.field("act_bias"), m.actuator_biasprm[:, :3], "bias")


def test_tendons(pair):
    s, m = pair
    if m.ntendon == 0:
        pytest.skip("no tendons")
    near(s.field("wrap_coef"), m.wrap_prm, "coef")
    near(s.field("wrap_jnt"), m.wrap_objid, "joint")
    near(s.field("ten_limited"), m.tendon_limited, "limited")
    near(s.field("ten_lengthspring"), m.tendon_lengthspring, "lengthspring")
    for name in ("range", "stiffness", "damping", "frictionloss"):
        near(s.field("ten_" + name), getattr(m, "tendon_" + name), name)


def test_equalities(pair):
    s, m = pair
    if m.neq == 0:
        pytest.skip("no equalities")
    near(s.field("eq_type"), m.eq_type, "type")
    near(s.field("eq_active"), m.eq_active0, "active")
    near(s.field("eq_a"), m.eq_obj1id, "a")
    near(s.field("eq_b"), m.eq_obj2id, "b")
    for i in range(m.neq):
        kind, data = m.eq_type[i], m.eq_data[i]
        if kind == mujoco.mjtEq.mjEQ_CONNECT:
            near(s.field("eq_anchor")[i], data[:3], f"anchor {i}")
            near(s.field("eq_anchor2")[i], data[3:6], f"anchor2 {i}")
        elif kind == mujoco.mjtEq.mjEQ_WELD:
            near(s.field("eq_anchor")[i], data[:3], f"anchor {i}")
            near(s.field("eq_relpos")[i], data[3:6], f"relpos {i}")
            near_quat(s.field("eq_relquat")[i], data[6:10], f"relquat {i}")
            near(s.field("eq_torquescale")[i], data[10], f"torquescale {i}")
        else:
            near(s.field("eq_polycoef")[i], data[:5], f"polycoef {i}")


def test_keyframes(pair):
    s, m = pair
    if not s.names("key"):
        pytest.skip("no keyframes")
    near(s.field("key_qpos"), m.key_qpos, "qpos")
    near(s.field("key_qvel"), m.key_qvel, "qvel")
    near(s.field("key_ctrl"), m.key_ctrl, "ctrl")


REPLICAS = {
    "offset": '<replicate count="3" offset="1 0 0.5"><geom name="g" size=".1" pos="0 0 1"/></replicate>',
    "turned": '<replicate count="5" offset="1 0 0" euler="30 10 90" sep="_"><geom name="g" size=".1" pos="0 .5 1" euler="1 2 3"/></replicate>',
    "in a frame": '<frame pos="1 2 3" euler="10 20 30"><replicate count="2" euler="0 0 20"><geom name="g" size=".1"/></replicate></frame>',
    "nested": '<replicate count="2" offset="1 0 0" sep="-"><replicate count="11" offset="0 0 1" euler="5 0 0"><geom name="g" size=".1"/></replicate></replicate>',
    "bodies": """<body name="a"><freejoint name="f"/><geom size=".3"/><replicate count="3" offset="0 1 0" euler="0 40 0"><body name="b" pos="0 0 2" euler="0 0 9">
      <joint name="j" axis="0 1 0"/><geom size=".1" name="x"/><geom type="box" size=".2 .1 .3"/><body name="c"><joint name="k"/><geom size="0.1"/><site name="s"/></body></body></replicate></body>""",
    "none": '<replicate count="0"><geom size=".1"/></replicate><geom name="q" size="1"/>',
    "one": '<replicate count="1"><geom name="g" size=".1"/></replicate><geom name="q" size="1"/>',
}


@pytest.mark.parametrize("compiler", ["", '<compiler angle="radian" eulerseq="zYx"/>'])
@pytest.mark.parametrize("name", REPLICAS)
def test_replicate(name, compiler, tmp_path):
    (tmp_path / "m.xml").write_text(f"<mujoco>{compiler}<worldbody>{REPLICAS[name]}</worldbody></mujoco>")
    s, m = Sim(tmp_path / "m.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    test_names_and_counts((s, m))
    test_bodies((s, m))
    test_joints((s, m))
    near(s.field("geom_pos"), m.geom_pos, "geom pos")
    near_quat(s.field("geom_quat"), m.geom_quat, "geom quat")
    near(s.param("body_mass")[:, 0], m.body_mass, "mass")


SITES = """<mujoco><option gravity="0 0 0"/><worldbody><site name="w" pos="0.2 -0.1 0.9"/>
<body name="a" pos="0 0 1" euler="10 20 30"><freejoint/><geom type="box" size=".1 .2 .3"/><site name="s" pos="0.1 0.2 0.3"/><site name="t" pos="0 0 -0.3"/></body>
<body name="b" pos="1 0 1"><freejoint/><geom size=".1"/><site name="u" pos="0 0 0.4"/></body></worldbody>
<equality><connect site1="s" site2="u"/><connect site1="t" site2="w"/></equality></mujoco>"""


def test_connect_by_sites(tmp_path):
    (tmp_path / "m.xml").write_text(SITES)
    s, m = Sim(tmp_path / "m.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    near(s.field("eq_anchor"), [[0.1, 0.2, 0.3], [0, 0, -0.3]], "anchor")
    near(s.field("eq_anchor2"), [[0, 0, 0.4], [0.2, -0.1, 0.9]], "anchor 2")
    # the sites, apart in the file, are pulled together; MuJoCo's kinematics say where they are
    done = subprocess.run([ROOT / "build/bin/tangere", "simulate", tmp_path / "m.xml", "--steps", "2000", "--json"], capture_output=True, text=True, timeout=100)
    d = mujoco.MjData(m)
    d.qpos[:] = json.loads(done.stdout)["qpos"]
    mujoco.mj_kinematics(m, d)
    site = {n: d.site_xpos[mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, n)] for n in "stuw"}
    assert np.abs(site["s"] - site["u"]).max() < 1e-3 and np.abs(site["t"] - site["w"]).max() < 1e-3


def top(s, x, y):
    """Height of the uppermost triangle of all cells above (x, y)."""
    vert, face = np.asarray(s.field("mesh_vert")).reshape(-1, 3), np.asarray(s.field("mesh_face")).reshape(-1, 3)
    vertadr, faceadr, facenum = (np.ravel(s.field(f"mesh_{w}")) for w in ("vertadr", "faceadr", "facenum"))
    best = -np.inf
    for k in range(len(vertadr)):
        for f in face[faceadr[k]:faceadr[k] + facenum[k]]:
            a, b, c = vert[vertadr[k] + f]
            n = np.cross(b - a, c - a)
            if n[2] <= 0:
                continue
            u = np.linalg.solve(np.array([b[:2] - a[:2], c[:2] - a[:2]]).T, np.array([x, y]) - a[:2])
            if min(u[0], u[1], 1 - u.sum()) >= -1e-12:
                best = max(best, a[2] + u @ [b[2] - a[2], c[2] - a[2]])
    return best


def same_surface(path, rng, off=1e-12):
    """The surface of the cells is what MuJoCo's rays meet."""
    s, m = Sim(path), mujoco.MjModel.from_xml_path(str(path))
    assert (s.field("mesh_vert").reshape(-1, 3)[:, 2].min() == -0.25) and s.param("body_mass").sum() == 0
    d, geom = mujoco.MjData(m), np.zeros(1, np.int32)
    mujoco.mj_forward(m, d)
    for x, y in rng.uniform([-0.99, -1.99], [0.99, 1.99], (60, 2)):
        ray = 5 - mujoco.mj_ray(m, d, np.array([x, y, 5.0]), np.array([0, 0, -1.0]), None, 1, -1, geom)
        assert abs(top(s, x, y) - ray) <= off, (x, y)


@pytest.mark.parametrize("rows, cols, form", [(4, 5, "text"), (4, 5, "file"), (3, 3, "none")])
def test_height_field(rows, cols, form, tmp_path):
    """Heights are such as MuJoCo's float32 holds exactly."""
    rng = np.random.default_rng(rows)
    height = rng.integers(0, 9, (rows, cols)) / 8
    height[0, 0], height[-1, -1] = 0, 1                        # normalising changes nothing
    if form == "file":
        (tmp_path / "fields").mkdir()
        (tmp_path / "fields/h.bin").write_bytes(np.array([rows, cols], "<i4").tobytes() + height.astype("<f4").tobytes())
    given = {"text": f'nrow="{rows}" ncol="{cols}" elevation="{" ".join(map(str, height.ravel()))}"', "file": 'file="elsewhere/h.bin"',
             "none": f'nrow="{rows}" ncol="{cols}"'}[form]
    (tmp_path / "m.xml").write_text('<mujoco><compiler meshdir="fields" strippath="true"/>'
                                    f'<asset><hfield name="h" {given} size="1 2 .5 .25"/></asset><worldbody>'
                                    '<geom type="hfield" hfield="h"/></worldbody></mujoco>')
    same_surface(tmp_path / "m.xml", rng)


def png(depth, kind, rows, palette=b"", between=b""):
    """A PNG of packed rows."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    pixels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind] * depth
    head = struct.pack(">IIBBBBB", 8 * len(rows[0]) // pixels, len(rows), depth, kind, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + between + (chunk(b"PLTE", palette) if palette else b"")
            + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(r) for r in rows))) + chunk(b"IEND", b""))


GAMMA = struct.pack(">I", 4) + b"gAMA" + struct.pack(">I", 100000) + struct.pack(">I", zlib.crc32(b"gAMA" + struct.pack(">I", 100000)))


@pytest.mark.parametrize("depth, kind", [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2), (1, 3), (2, 3), (4, 3), (8, 3), (8, 4),
                                         (16, 4), (8, 6)])
def test_height_field_of_an_image(depth, kind, tmp_path):
    """Grey, colours, palettes, transparency, gamma, of any depth. MuJoCo has these heights as float32."""
    rng = np.random.default_rng(depth + 100 * kind)
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    rows = [bytes(rng.integers(0, 256, 8 * channels * depth // 8, np.uint8)) for _ in range(5)]   # 8 columns
    palette = bytes(rng.integers(0, 256, 3 << depth, np.uint8)) if kind == 3 else b""
    name = f"h{depth}_{kind}.png"   # MuJoCo keeps files by name
    (tmp_path / name).write_bytes(png(depth, kind, rows, palette, GAMMA))
    (tmp_path / "m.xml").write_text(f'<mujoco><asset><hfield name="h" file="{name}" size="1 2 .5 .25"/></asset><worldbody>'
                                    '<geom type="hfield" hfield="h"/></worldbody></mujoco>')
    same_surface(tmp_path / "m.xml", rng, 1e-7)
