"""Contacts and joint forces from Python: statics, MuJoCo's own contacts and joint forces, rollouts and batches against steps."""
import numpy as np
import pytest

import tangere as tg

BLOCK = """<mujoco><default><geom friction="0.5 0 0"/></default><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body name="block" pos="0 0 0.102"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
  <geom name="block" type="box" size=".1 .1 .1" mass="2"/></body></worldbody>
  <actuator><motor joint="x"/></actuator></mujoco>""".replace('type="slide" axis="1', 'name="x" type="slide" axis="1')


@pytest.mark.parametrize("word", tg.contact_models())
def test_block_at_rest_and_pushed(word):
    model = tg.loads(BLOCK)
    for push, state in ((4, "sticking"), (15, "sliding")):
        sim = tg.Sim(model, contact=word, dt=0.002)
        for _ in range(300):
            sim.step(np.array([float(push)]))
        c = sim.contacts()
        c = c[c["force"][:, 0] > 0]
        assert c[state].all() and len(c) > 0
        assert {model.names("geom")[i] for i in c["geom1"]} == {"floor"} and {model.names("geom")[i] for i in c["geom2"]} == {"block"}
        assert c["force"][:, 0].sum() == pytest.approx(2 * 9.81, rel=1e-3)
        assert c["world"][:, 0].sum() == pytest.approx(-min(push, 0.5 * 2 * 9.81), rel=5e-3)
        np.testing.assert_allclose(np.einsum("nij,ni->nj", c["frame"], c["force"]), c["world"], atol=1e-12)
        wrench = sim.contact_wrench("block", at=[0.0, 0.0, 0.0])
        np.testing.assert_allclose(wrench[:3], c["world"].sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(wrench[3:], (np.cross(c["point"], c["world"]) + c["torque"]).sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(sim.contact_wrench("world")[:3], -wrench[:3], atol=1e-12)


def test_no_step_no_contacts():
    sim = tg.Sim(tg.loads(BLOCK))
    assert len(sim.contacts()) == 0
    with pytest.raises(tg.Error, match="step first"):
        sim.joint_wrenches()
    with pytest.raises(KeyError, match="nobody"):
        sim.contact_wrench("nobody")


def shapes(a, b):
    return f"""<mujoco><option timestep="0.001"/><worldbody>{a}<body pos="0 0 0"><freejoint/>{b}</body></worldbody></mujoco>"""


# a fixed geom and one on it, 0.1 mm deep, in positions where the contact's place and normal have one answer
PAIRS = {
    "sphere on plane": ('<geom type="plane" size="1 1 1"/>', '<geom size=".1" pos=".3 .2 .0999"/>'),
    "box on plane": ('<geom type="plane" size="1 1 1"/>', '<geom type="box" size=".1 .2 .3" pos=".3 .2 .2999"/>'),
    "capsule on plane": ('<geom type="plane" size="1 1 1"/>', '<geom type="capsule" size=".1 .2" pos=".3 .2 .0999" euler="0 90 30"/>'),
    "sphere on sphere": ('<geom size=".2"/>', '<geom size=".1" pos=".17314 .17314 .17314"/>'),
    "sphere on box": ('<geom type="box" size=".2 .3 .4"/>', '<geom size=".1" pos=".1 .05 .4999"/>'),
    "capsule across capsule": ('<geom type="capsule" size=".1 .3" euler="90 0 0"/>', '<geom type="capsule" size=".05 .3" pos=".1 0 .1499" euler="0 90 0"/>'),
}


@pytest.mark.parametrize("name", PAIRS)
def test_contacts_are_mujocos(name):
    mujoco = pytest.importorskip("mujoco")
    text = shapes(*PAIRS[name])
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    sim = tg.Sim(tg.loads(text), contact_rule="touching")
    sim.step()
    ours = sim.contacts()
    assert len(ours) == data.ncon > 0
    order = lambda p: np.lexsort(np.round(p, 6).T)
    con = data.contact
    mine, his = ours[order(ours["point"])], order(con.pos)
    normal = np.where(con.geom1[his] == 0, 1, -1)[:, None] * con.frame.reshape(-1, 9)[his, :3]   # MuJoCo orders geoms by type
    assert (mine["geom1"] == 0).all() and (mine["geom2"] == 1).all()
    np.testing.assert_allclose(mine["distance"], con.dist[his], atol=1e-9)
    np.testing.assert_allclose(mine["frame"][:, 0], normal, atol=1e-6)
    apart = mine["point"] - con.pos[his]
    along = np.einsum("ni,ni->n", apart, normal)
    np.testing.assert_allclose(apart, along[:, None] * normal, atol=1e-6)
    assert (abs(along) <= 0.51e-4).all()      # both lie in the overlap; theirs is its middle


ARM = """<mujoco><option timestep="0.0005" gravity="1 2 -9.81"><flag contact="disable"/></option><worldbody><body pos="0 0 1"><joint axis="0 1 0"/>
  <geom type="capsule" size=".03" fromto="0 0 0 .4 0 .1"/><body pos=".4 0 .1"><joint axis="1 0 .3"/><joint type="slide" axis="0 1 0" stiffness="50"/>
  <geom type="box" size=".1 .05 .02" pos=".1 .1 0"/><body pos=".1 0 .2"><geom size=".05"/></body></body></body></worldbody></mujoco>"""


def test_joint_wrenches_are_mujocos():
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(theirs)
    sim = tg.Sim(tg.loads(ARM), contact=None)
    rng = np.random.default_rng(3)
    for _ in range(3):
        data.qpos[:] = sim.qpos[:] = rng.normal(size=3)
        data.qvel[:] = before = rng.normal(size=3)
        sim.qvel[:] = before
        sim.step()
        ours = sim.joint_wrenches()
        mujoco.mj_forward(theirs, data)
        data.qacc[:] = (sim.qvel - before) / sim.dt
        mujoco.mj_rnePostConstraint(theirs, data)
        for b in range(1, theirs.nbody):
            torque, force = data.cfrc_int[b, :3], data.cfrc_int[b, 3:]   # about the centre of mass of the tree
            arm = data.subtree_com[theirs.body_rootid[b]] - data.xpos[b]
            np.testing.assert_allclose(ours[b], np.concatenate([force, torque + np.cross(arm, force)]), atol=1e-9)


@pytest.mark.parametrize("word", tg.contact_models())
def test_looking_changes_nothing(models, word):
    model = tg.load(models / "cubes.xml")
    sims = [tg.Sim(model, contact=word, dt=0.002) for _ in range(2)]
    for looks, sim in enumerate(sims):
        sim.qpos[[2, 9]] += 0.005, 0.01
        for _ in range(50):
            sim.step()
            if looks:
                sim.contacts(), sim.contact_wrench(1), sim.joint_wrenches()
    np.testing.assert_array_equal(sims[0].qpos, sims[1].qpos)
    np.testing.assert_array_equal(sims[0].jacobians().A, sims[1].jacobians().A)
    np.testing.assert_array_equal(sims[0].vjp(gq=np.ones(model.nv)).v, sims[1].vjp(gq=np.ones(model.nv)).v)


def same(a, b):
    """Of two structured arrays, the fields that both have."""
    for name in set(a.dtype.names) & set(b.dtype.names):
        np.testing.assert_array_equal(a[name], b[name])


def test_rollouts_and_batches_tell_what_steps_tell(models):
    model = tg.load(models / "cubes.xml")
    steps, n = 40, 3
    rng = np.random.default_rng(0)
    v0 = 0.2 * rng.normal(size=(n, model.nv))
    batch = tg.Batch(model, dt=0.01).rollout(v0=v0, steps=steps, contacts=True)
    assert tg.Batch(model, dt=0.01).rollout(v0=v0, steps=2).contacts is None
    sim = tg.Sim(model, dt=0.01)
    for run in range(n):
        of_run = batch.contacts[batch.contacts["run"] == run]
        sim.reset()
        sim.qvel[:] = v0[run]
        roll = sim.rollout(steps=steps, contacts=True)
        assert roll.contacts.dtype.names[0] == "step" and sim.rollout(steps=1).contacts is None
        same(roll.contacts, of_run)
        for t in range(steps):
            sim.step()
            same(sim.contacts(), roll.contacts[roll.contacts["step"] == t])
    assert len(batch.contacts) > n * steps
