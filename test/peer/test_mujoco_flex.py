"""Sheets against MuJoCo's flex of dimension 2: bodies, masses, numbering, and the forces of membrane and bending (DA-5)."""
import mujoco
import numpy as np
import pytest
import tangere

GRID = '<flexcomp name="c" type="grid" dim="2" count="4 3 1" spacing=".05 .04 .05" mass=".12" radius=".003" %s>%s<pin id="0 3"/>%s</flexcomp>'
DISC = '<flexcomp name="c" type="disc" dim="2" count="5 4 1" spacing=".5 .6 .1" mass=".2" pos=".1 0 .3" euler="20 30 40" scale="1 1.2 1" %s>%s<pin id="0 11"/>%s</flexcomp>'
# a cap: its shape at rest is curved
POINTS = np.array([[0, 0, 0.05]] + [[0.1 * np.cos(t), 0.12 * np.sin(t), 0.01 * np.cos(3 * t)] for t in np.linspace(0, 2 * np.pi, 7)[:-1]]
                  + [[0.21 * np.cos(t + .4), 0.2 * np.sin(t + .4), -0.06] for t in np.linspace(0, 2 * np.pi, 7)[:-1]])
TRIANGLES = [t for i in range(6) for t in ([0, 1 + i, 1 + (i + 1) % 6], [1 + i, 7 + i, 1 + (i + 1) % 6], [7 + i, 7 + (i + 1) % 6, 1 + (i + 1) % 6])]
CAP = ('<flexcomp name="c" type="direct" dim="2" mass=".3" scale="1 1.2 .9" pos="0 .1 0" point="' + " ".join("%.17g" % x for x in POINTS.ravel()) + '" element="'
       + " ".join(str(i) for t in TRIANGLES for i in t) + '" %s>%s<pin range="2 4"/>%s</flexcomp>')
SHEETS = {"grid": GRID, "disc": DISC, "cap": CAP}


def document(sheet, what, damping=0.0):
    elastic = f'<elasticity young="2e4" poisson=".25" thickness=".002" elastic2d="{what}" damping="{damping}"/>'
    inside = sheet % ("", elastic, '<contact selfcollide="none"/>')
    return f"""<mujoco><option gravity="0 0 0" timestep="1e-7"/><worldbody><geom type="plane" size="1 1 1"/>
      <body name="p" pos="0 0 1" euler="10 20 30"><freejoint/><geom size=".02" mass="1"/>
        <body pos="0 0 .1"><geom size=".01" contype="0" conaffinity="0"/></body>
        <frame pos=".1 .2 .3" euler="0 0 50">{inside}</frame></body>
      <body name="after"><joint axis="0 1 0"/><geom size=".05"/></body></worldbody></mujoco>"""


def both(tmp_path, text):
    path = tmp_path / "sheet.xml"
    path.write_text(text)
    return mujoco.MjModel.from_xml_string(text), tangere.Sim(str(path))


@pytest.mark.parametrize("name", SHEETS)
@pytest.mark.parametrize("what", ["stretch", "bend", "both"])
def test_forces(tmp_path, name, what):
    model, sim = both(tmp_path, document(SHEETS[name], what))
    data = mujoco.MjData(model)
    random = np.random.default_rng(3)
    assert (sim.nq, sim.nv) == (model.nq, model.nv)
    assert sim.names("body") == [model.body(i).name for i in range(model.nbody)]
    np.testing.assert_allclose(sim.field("body_mass").ravel(), model.body_mass, rtol=1e-14)
    np.testing.assert_allclose(sim.field("body_pos"), model.body_pos, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(sim.field("flex_elem"), model.flex_elem.reshape(-1, 3))
    np.testing.assert_array_equal(sim.field("flex_vertbody").ravel(), model.flex_vertbodyid)
    for _ in range(10):
        data.qpos[:] = model.qpos0
        data.qpos[3:7] = random.normal(size=4)
        data.qpos[7:] += 0.01 * random.normal(size=model.nq - 7)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        sim.qpos[:] = data.qpos
        sim.qvel[:] = 0
        sim.forward()
        # both sum the pull of all vertices on the body that carries them
        np.testing.assert_allclose(sim.field("qfrc_passive").ravel(), data.qfrc_spring, rtol=0, atol=1e-12 * np.abs(data.qfrc_spring).max())


@pytest.mark.parametrize("name", SHEETS)
def test_damping_as_the_step_goes_to_zero(tmp_path, name):
    # MuJoCo takes the strain a step earlier: the same to first order in the step
    model, sim = both(tmp_path, document(SHEETS[name], "both", 0.01))
    data = mujoco.MjData(model)
    random = np.random.default_rng(4)
    data.qpos[7:] += 0.01 * random.normal(size=model.nq - 7)
    data.qvel[:] = random.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    sim.qpos[:], sim.qvel[:] = data.qpos, data.qvel
    sim.forward()
    want = data.qfrc_spring + data.qfrc_damper
    np.testing.assert_allclose(sim.field("qfrc_passive").ravel(), want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_a_sheet_between_bodies_of_the_file():
    path = tangere.ROOT / "models/cloth_flip.xml"
    model, sim = mujoco.MjModel.from_xml_path(str(path)), tangere.Sim(str(path))
    data = mujoco.MjData(model)
    random = np.random.default_rng(5)
    model.flex_damping[:] = 0
    sim.param("flex_damping")[:] = 0
    for _ in range(3):
        data.qpos[:] = 0.01 * random.normal(size=model.nq)
        mujoco.mj_forward(model, data)
        sim.qpos[:] = data.qpos
        sim.forward()
        np.testing.assert_allclose(sim.field("qfrc_passive").ravel(), data.qfrc_spring, rtol=0, atol=1e-12 * np.abs(data.qfrc_spring).max())


def test_mesh_file(tmp_path):
    """A file is found as those of mesh assets are; a number is that number however it is written. MuJoCo reads vertices as floats, which these are."""
    (tmp_path / "sheet.obj").write_text("v 0 0 0\nv .125 0 0\nv .125 .125 0\nv 0 .125 .03125\nf 1 2 3\nf 1 3 4\n")
    path = tmp_path / "model.xml"
    path.write_text("""<mujoco><compiler strippath="true"/><worldbody><body name="p" pos="0 0 1">
      <flexcomp name="c" type="mesh" file="elsewhere/sheet.obj" dim="2" mass=".1" radius=".003"><edge stiffness="0.0"/>
      <elasticity young="2e4" poisson=".25" thickness=".002" elastic2d="both"/><contact selfcollide="none"/></flexcomp></body></worldbody></mujoco>""")
    model, sim = mujoco.MjModel.from_xml_path(str(path)), tangere.Sim(str(path))
    np.testing.assert_array_equal(sim.field("flex_elem"), model.flex_elem.reshape(-1, 3))
    np.testing.assert_allclose(sim.field("body_pos"), model.body_pos, rtol=0, atol=1e-15)
    path.write_text(path.read_text().replace('"0.0"', '"3"'))
    with pytest.raises(RuntimeError, match="stiffness"):
        tangere.Sim(str(path))
