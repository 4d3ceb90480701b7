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


def test_another_contact_model_is_named():
    sim = tg.Sim(tg.loads(BALLS), contact="lcp", dt=0.002)
    sim.step()
    with pytest.raises(tg.Error, match="lcp"):
        sim.hessian()
