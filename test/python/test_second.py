"""Second derivatives from Python against differences of gradients."""
import numpy as np
import pytest

import tangere as tg

BALLS = """<mujoco><option gravity="0 0 0"/><worldbody>
<body><joint name="x" type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/></body>
<body pos="0.2 0 0.02"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/></body></worldbody>
<actuator><motor joint="x"/></actuator></mujoco>"""


@pytest.fixture
def sim():
    sim = tg.Sim(tg.loads(BALLS), contact="softmin", dt=0.002)
    sim.qvel[:] = [0.3, 0.1, -0.2, 0.0]
    return sim


def test_hessian_is_the_jacobians_derivative(sim):
    start = sim.qpos.copy(), sim.qvel.copy()

    def jacobian(d):
        sim.qpos[:], sim.qvel[:] = start[0] + d, start[1]   # slides: coordinates are their own tangents
        sim.step(np.zeros(1))
        J = sim.jacobians()
        return np.hstack([J.A, J.B])

    jacobian(np.zeros(4))
    H = sim.hessian()
    np.testing.assert_allclose(H, H.transpose(0, 2, 1), atol=1e-9 * np.abs(H).max())
    e = 1e-7
    for i in range(4):
        d = np.zeros(4)
        d[i] = e
        np.testing.assert_allclose(H[:, :, i], (jacobian(d) - jacobian(-d)) / (2 * e), atol=1e-5 * np.abs(H).max())


def test_product_with_the_hessian_of_a_trajectory(sim):
    U = np.zeros((20, 1))
    gq = np.random.default_rng(0).standard_normal((21, 4))
    dv0 = np.array([1.0, 0.5, -1.0, 0.2])
    p = sim.rollout_hvp(U, gq=gq, dv0=dv0)

    def gradient(v0):
        return sim.rollout(U, v0=v0).backward(dq=gq)

    e = 1e-6
    up, down = gradient(sim.qvel + e * dv0), gradient(sim.qvel - e * dv0)
    np.testing.assert_allclose(p.v0, (up.v0 - down.v0) / (2 * e), atol=1e-5 * np.abs(p.v0).max())
    np.testing.assert_allclose(p.u, (up.u - down.u) / (2 * e), atol=1e-5 * np.abs(p.u).max())


def test_product_in_parameters(sim):
    g = np.random.default_rng(1).standard_normal(8)
    start = sim.qpos.copy(), sim.qvel.copy()
    mass = sim.param("body_mass").copy()
    direction = np.zeros_like(mass)
    direction[1] = 1.0

    def gradient(e):
        sim.qpos[:], sim.qvel[:] = start
        sim.set_param("body_mass", mass + e * direction)
        sim.step()
        return sim.vjp(g[:4], g[4:], params=["body_mass", "contact.dissipation_speed"])

    e = 1e-6
    up, down = gradient(e), gradient(-e)
    gradient(0)
    p = sim.hvp_params(g, dp={"body_mass": direction}, params=["contact.dissipation_speed"])
    assert set(p.params) == {"body_mass", "contact.dissipation_speed"} and p.params["body_mass"].shape == mass.shape
    for name in p.params:
        want = (up.params[name] - down.params[name]) / (2 * e)
        np.testing.assert_allclose(p.params[name], want, atol=1e-6 * np.abs(want).max() + 1e-12)
    want = np.concatenate([up.q - down.q, up.v - down.v, up.u - down.u]) / (2 * e)
    np.testing.assert_allclose(p.x, want, atol=1e-6 * np.abs(want).max())
    np.testing.assert_allclose(sim.hvp_params(g, d=np.ones(9)).x, sim.hvp(g, np.ones(9)))

    gq = np.random.default_rng(2).standard_normal((21, 4))
    U = np.zeros((20, 1))

    def whole(e):
        sim.set_param("body_mass", mass + e * direction)
        return sim.rollout(U, q0=start[0], v0=start[1]).backward(dq=gq, params=["body_mass"])

    up, down = whole(e), whole(-e)
    whole(0)
    r = sim.rollout_hvp(U, gq=gq, q0=start[0], v0=start[1], dp={"body_mass": direction})
    np.testing.assert_allclose(r.v0, (up.v0 - down.v0) / (2 * e), atol=1e-5 * np.abs(r.v0).max())
    np.testing.assert_allclose(r.params["body_mass"], (up.params["body_mass"] - down.params["body_mass"]) / (2 * e), atol=1e-5 * np.abs(r.params["body_mass"]).max())
    with pytest.raises(tg.Error, match="opt_timestep"):
        sim.hvp_params(g, dp={"opt_timestep": [1.0]})


def test_a_step_says_that_it_is_too_long():
    model = tg.loads(BALLS)
    for dt, unstable in ((1e-5, False), (0.5, True)):
        sim = tg.Sim(model, contact="softmin", dt=dt)
        info = sim.step()
        assert info.stable_step == np.inf and not info.unstable
        sim.reset()
        sim.watch_stability()
        info = sim.step()
        assert 1e-5 < info.stable_step < 0.5 and info.unstable == unstable


def test_another_contact_model_is_named():
    sim = tg.Sim(tg.loads(BALLS), contact="lcp", dt=0.002)
    sim.step()
    with pytest.raises(tg.Error, match="lcp"):
        sim.hessian()
