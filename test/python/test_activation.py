"""Activations in Python: state, steps, derivatives, rollouts, batches, JAX, tasks and replays, against formulas of MuJoCo's documentation."""
import math

import numpy as np
import pytest

import tangere

MODEL = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody>
<body><joint name="a" type="slide" axis="1 0 0"/><geom name="one" size=".1" mass="2" contype="0" conaffinity="0"/></body>
<body><joint name="b" type="slide" axis="0 1 0"/><geom name="two" size=".1" mass="1" contype="0" conaffinity="0"/></body>
</worldbody><actuator>
<motor name="plain" joint="a"/>
<general name="wind" joint="a" dyntype="integrator" gainprm="3" actrange="-1 1"/>
<position name="servo" joint="b" kp="5" timeconst="0.05"/>
</actuator><keyframe><key name="set" act="0.2 -0.3"/></keyframe></mujoco>"""
H, TAU = 0.01, 0.05


@pytest.fixture
def model(tmp_path):
    (tmp_path / "m.xml").write_text(MODEL)
    return tangere.load(str(tmp_path / "m.xml"))


def after(act, u):
    return np.array([np.clip(act[0] + H * u[1], -1, 1), act[1] + (u[2] - act[1]) * (1 - math.exp(-H / TAU))])


def test_state(model):
    assert (model.nv, model.na, model.nu) == (2, 2, 3)
    sim = tangere.Sim(model, contact="lcp")
    sim.act[:] = 0.2, -0.3
    u = np.array([0.5, 1.0, 2.0])
    sim.step(u)
    assert np.allclose(sim.act, after([0.2, -0.3], u), atol=1e-15)
    # forces of the activations before the step; the servo's gain on length at its end: v' = h kp (act - h v')
    assert np.allclose(sim.qvel, [H * (0.5 + 3 * 0.2) / 2, H * 5 * -0.3 / (1 + 5 * H**2)], atol=1e-15)
    sim.reset()
    assert not sim.act.any()
    with pytest.raises(tangere.Error, match=r"act\[1\] of actuator 'servo'"):
        sim.act[1] = np.nan
        sim.step()


def test_step_derivatives(model):
    sim = tangere.Sim(model, contact="lcp")
    sim.act[:] = 0.2, -0.3
    sim.step(np.array([0.5, 1.0, 2.0]))
    J = sim.jacobians(params=["act_timeconst"])
    assert J.A.shape == (6, 6) and J.B.shape == (6, 3) and J.params["act_timeconst"].shape[0] == 6
    decay = math.exp(-H / TAU)
    assert np.allclose(J.A[4:], [[0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, decay]])
    assert np.allclose(J.B[4:], [[0, H, 0], [0, 0, 1 - decay]])
    assert np.isclose(J.A[2, 4], 3 * H / 2) and np.isclose(J.A[3, 5], 5 * H / (1 + 5 * H**2)) and not J.B[3].any()
    assert np.isclose(np.ravel(J.params["act_timeconst"][5])[2], -(2.0 + 0.3) * decay * H / TAU**2)
    w = np.arange(6.0)
    g = sim.vjp(w[:2], w[2:])
    assert np.allclose(np.concatenate([g.q, g.v]), w @ J.A) and np.allclose(g.u, w @ J.B)
    with pytest.raises(ValueError, match="gv"):
        sim.vjp(w[:2], w[2:4])


def test_rollout(model):
    sim = tangere.Sim(model, contact="lcp")
    rng = np.random.default_rng(1)
    u, v0 = rng.normal(size=(7, 3)), np.array([0.0, 0.0, 0.2, -0.3])
    sim.act[:] = v0[2:]
    roll = sim.rollout(u)   # from the sim's state
    act = [v0[2:]]
    for t in range(7):
        act.append(after(act[-1], u[t]))
    assert roll.v.shape == (8, 4) and np.allclose(roll.v[:, 2:], act, atol=1e-14)
    weight = rng.normal(size=(8, 4))
    g = roll.backward(dv=weight)
    value = lambda v: float(np.sum(weight * sim.rollout(u, v0=v).v))
    slope = [(value(v0 + e) - value(v0 - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    assert np.allclose(g.v0, slope, atol=1e-7)
    assert g.v0.shape == (4,) and g.u.shape == (7, 3)
    with pytest.raises(ValueError, match="v0"):
        sim.rollout(u, v0=np.zeros(2))


def test_batch(model):
    batch = tangere.Batch(model, contact="lcp", threads=2)
    rng = np.random.default_rng(2)
    u, v0 = rng.normal(size=(5, 6, 3)), rng.normal(size=(5, 4)) * 0.1
    runs, sim = batch.rollout(v0=v0, u=u), tangere.Sim(model, contact="lcp")
    g = runs.backward(dv=np.ones((5, 4)))
    for i in range(5):
        alone = sim.rollout(u[i], v0=v0[i])
        assert np.array_equal(runs.v[i], alone.v)
        assert np.array_equal(g.v0[i], alone.backward(dv=np.ones(4)).v0)


def test_second(model):
    sim = tangere.Sim(model, contact="softmin")
    sim.act[:] = 0.2, -0.3
    sim.step(np.array([0.5, 1.0, 2.0]))
    assert sim.hessian().shape == (6, 9, 9)
    assert np.allclose(sim.hessian(), 0, atol=1e-12)   # all of this model is linear
    u = np.zeros((3, 3))
    p = sim.rollout_hvp(u, gv=np.ones((4, 4)), dv0=np.array([0, 0, 1.0, 0]))
    assert p.v.shape == (4, 4) and np.allclose(p.v[:, 2], 1) and np.allclose(p.v[:, 0], 3 * H / 2 * np.arange(4))


def test_jax(model):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import tangere.jax
    batch = tangere.Batch(model, contact="lcp")
    u, v0 = np.random.default_rng(3).normal(size=(4, 3)), np.array([0.0, 0.1, 0.2, -0.3])

    def loss(v0):
        q, v = tangere.jax.rollout(batch, np.zeros(2), v0, u)
        return (v[-1] ** 2).sum() + (q**2).sum()

    slope = [(loss(v0 + e) - loss(v0 - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    assert np.allclose(jax.grad(loss)(v0), slope, atol=1e-7)


def test_task(tmp_path):
    (tmp_path / "m.xml").write_text(MODEL)
    (tmp_path / "t.yaml").write_text("model: m.xml\ncontact: lcp\nhorizon: {steps: 20, timestep: 0.01}\nstart: {keyframe: set}\n"
                                     "controls: {low: -5, high: 5}\neffort: off\nlosses: [{term: joint_position, name: a, target: [0.05], weight: 9}]\n"
                                     "optimizer: {method: lbfgs, iterations: 20}\n")
    task = tangere.Task(str(tmp_path / "t.yaml"))
    sim = task.sim()
    assert np.allclose(sim.act, [0.2, -0.3])
    found = task.optimize()
    loss, _, q, v = task.trajectory(found.x)
    assert loss < 1e-8 and v.shape == (21, 4) and np.allclose(v[0], [0, 0, 0.2, -0.3])
    total = 0.0
    for t, u in enumerate(task.expand(found.x)[2]):
        sim.ctrl[:] = u
        total += task._step(sim, t)
    assert np.isclose(total + task.cost(sim, 20), loss) and np.allclose(sim.act, v[-1, 2:])
