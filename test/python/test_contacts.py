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


# ---- derivatives ----

def _ball(contact, **options):
    model = tg.loads("""<mujoco><worldbody><geom type="plane" size="1 1 1" friction=".4"/><body name="ball" pos="0 0 .102"><freejoint/>
    <geom size=".1" mass="1" friction=".5"/></body></worldbody></mujoco>""")
    sim = tg.Sim(model, contact=contact, dt=0.004, **options)
    sim.qvel[0] = 1
    return model, sim


@pytest.mark.parametrize("contact", ["lcp", "damped", "softmin", "barrier"])
def test_derivatives(contact):
    """the adjoint is the Jacobian's, and forces change as the motion does"""
    model, sim = _ball(contact)
    for _ in range(20):
        sim.step()
    c = sim.contacts()
    J, D = sim.contacts_jacobians(["body_mass"]), sim.jacobians()
    assert J.q.shape == (len(c), 4, 3, 6) and J.v.shape == (len(c), 4, 3, 6) and len(J.params["body_mass"]) == 12 * len(c)
    change = (D.A[6:9] - np.eye(12)[6:9]) / 0.004                 # of m (v' - v)/h, m = 1
    np.testing.assert_allclose(J.q[:, 1].sum(0), change[:, :6], atol=1e-9 * abs(change).max())
    np.testing.assert_allclose(J.v[:, 1].sum(0), change[:, 6:], atol=1e-9 * abs(change).max())
    g = sim.contacts_vjp({"world": np.full((len(c), 3), 2.0)})
    np.testing.assert_allclose(g.v, 2 * J.v[:, 1].sum((0, 1)), atol=1e-9 * abs(change).max())
    assert g.label == J.label == "exact"
    w = sim.contact_wrench_vjp("ball", [1, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(w.q, J.q[:, 1, 0].sum(0), atol=1e-9 * abs(change).max())


def test_derivatives_along():
    model, sim = _ball("lcp")
    v0 = np.array([1.0, 0.2, -0.3, 0.1, 0, 0.2])

    def loss(v):
        roll = sim.rollout(v0=v, steps=15, contacts=True)
        return roll, 0.5 * (roll.contacts["force"][:, 0] ** 2).sum()

    roll, _ = loss(v0)
    force = np.zeros((len(roll.contacts), 3))
    force[:, 0] = roll.contacts["force"][:, 0]
    g = roll.backward(contacts={"force": force})
    for d in range(6):
        e = 1e-6 * np.eye(6)[d]
        assert g.v0[d] == pytest.approx((loss(v0 + e)[1] - loss(v0 - e)[1]) / 2e-6, abs=1e-4 * abs(g.v0).max())
    with pytest.raises(ValueError, match="contacts=True"):
        sim.rollout(v0=v0, steps=2).backward(contacts={"force": np.zeros((0, 3))})


def test_derivatives_along_batches():
    model, _ = _ball("lcp")
    rng = np.random.default_rng(5)
    n, steps = 5, 15
    v0 = np.array([1, 0.2, -0.3, 0.1, 0, 0.2]) + 0.3 * rng.normal(size=(n, 6))
    masses = np.arange(1.0, n + 1)[:, None] * [0, 1]
    dq = rng.normal(size=(n, steps + 1, 6))
    found = []
    for threads in 1, 3:
        roll = tg.Batch(model, dt=0.004, threads=threads).rollout(v0=v0, steps=steps, params={"body_mass": masses}, contacts=True)
        c = roll.contacts
        grad = {"force": c["force"] * [1, 0, 0], "world": np.cos(np.arange(len(c)))[:, None] * [0.5, 0, 1], "torque": 0 * c["torque"],
                "point": c["point"] + 1}
        g = roll.backward(dq, params=["body_mass"], contacts=grad)
        assert all(g.ok) and len(c) > n
        assert not np.array_equal(g.v0, roll.backward(dq).v0)
        np.testing.assert_array_equal(roll.backward(dq).v0, roll.backward(dq, contacts={}).v0)
        found.append(g)
    for i in range(n):
        sim = tg.Sim(model, dt=0.004)
        sim.set_param("body_mass", masses[i])
        alone = sim.rollout(v0=v0[i], steps=steps, contacts=True)
        mine = c["run"] == i
        same(alone.contacts, c[mine])
        want = alone.backward(dq[i], params=["body_mass"], contacts={name: np.ascontiguousarray(grad[name][mine]) for name in grad})
        for g in found:
            np.testing.assert_array_equal(g.q0[i], want.q0)
            np.testing.assert_array_equal(g.v0[i], want.v0)
            np.testing.assert_array_equal(g.params["body_mass"][i], want.params["body_mass"])
            assert g.label[i] == want.label


def test_batches_refuse_as_single_rollouts_do():
    model, _ = _ball("lcp")
    batch = tg.Batch(model, dt=0.004)
    v0 = np.zeros((2, 6))
    roll = batch.rollout(v0=v0, steps=4, contacts=True)
    n = len(roll.contacts)
    with pytest.raises(ValueError, match="contacts=True"):
        batch.rollout(v0=v0, steps=2).backward(contacts={"force": np.zeros((0, 3))})
    with pytest.raises(ValueError, match="impulse"):
        roll.backward(contacts={"impulse": np.ones((n, 3))})
    with pytest.raises(ValueError, match="world"):
        roll.backward(contacts={"world": np.ones((n + 1, 3))})
    with pytest.raises(TypeError, match="dict"):
        roll.backward(contacts=np.ones((n, 3)))
    # what a trajectory has no derivative of is told of each
    held = tg.Batch(model, dt=0.004, zero_contact_gradient=True).rollout(v0=v0 - [0, 0, 1, 0, 0, 0], steps=4, contacts=True)
    g = held.backward(contacts={"world": np.ones((len(held.contacts), 3))})
    assert g.ok == [False, False] and all("zero_contact_gradient" in text for text in g.error)
    # arrays that were changed since have other contacts
    start = np.tile(tg.Sim(model).qpos, (2, 1))
    start[1, 2] += 5
    roll = batch.rollout(q0=start, v0=v0 - [0, 0, 1, 0, 0, 0], steps=4, contacts=True)
    grad = {"world": np.ones((len(roll.contacts), 3))}
    assert all(roll.backward(contacts=grad).ok)
    start[1, 2] -= 5
    g = roll.backward(contacts=grad)
    assert g.ok == [True, False] and "other contacts" in g.error[1]


def test_no_derivative():
    model, sim = _ball("lcp", zero_contact_gradient=True)
    for _ in range(20):
        sim.step()
    n = len(sim.contacts())
    with pytest.raises(tg.Error, match="zero_contact_gradient"):
        sim.contacts_vjp({"world": np.ones((n, 3))})
    with pytest.raises(ValueError, match="impulse"):
        sim.contacts_vjp({"impulse": np.ones((n, 3))})
    with pytest.raises(ValueError, match="world"):
        sim.contacts_vjp({"world": np.ones((n + 1, 3))})
