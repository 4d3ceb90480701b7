"""PyTorch and JAX: their own gradient checks, jit, vmap, and quaternions entry by entry."""
import numpy as np
import pytest

import tangere as tg

BOX = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="box" pos="0 0 {z}"><freejoint/>
<geom type="box" size="0.1 0.2 0.3" mass="2"/></body></worldbody></mujoco>"""


def start(model, n, seed=0):
    rng = np.random.default_rng(seed)
    q = np.tile(model.field("qpos0"), (n, 1))
    q[:, :3] += 0.1 * rng.standard_normal((n, 3))
    q[:, 3:7] += 0.3 * rng.standard_normal((n, 4))   # not of unit length: the functions normalise
    return q, rng.standard_normal((n, model.nv))


@pytest.fixture(params=[2.0, 0.2], ids=["free", "touching"])
def box(request):
    return tg.loads(BOX.format(z=request.param))


def test_torch_gradcheck(box):
    torch = pytest.importorskip("torch")
    from tangere.torch import rollout, step
    batch = tg.Batch(box, contact="lcp", dt=0.01, threads=1)
    q, v = (torch.tensor(x, requires_grad=True) for x in start(box, 2))
    u = torch.zeros(2, 3, box.nu, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda q, v: rollout(batch, q, v, u), (q, v), eps=1e-6, atol=1e-5)
    mass = torch.tensor(box.field("body_mass").copy(), requires_grad=True)
    assert torch.autograd.gradcheck(lambda m: step(batch, q, v, u[:, 0], {"body_mass": m})[1], (mass,), eps=1e-6, atol=1e-5)


def test_torch_keeps_types_and_names_failures(box):
    torch = pytest.importorskip("torch")
    from tangere.torch import step
    batch = tg.Batch(box, dt=0.01, threads=1)
    q, v = (torch.tensor(x, dtype=torch.float32) for x in start(box, 2))
    u = torch.zeros(2, box.nu)
    assert step(batch, q, v, u)[0].dtype == torch.float32
    v[1, 0] = float("nan")
    with pytest.raises(tg.Error, match="trajectory 1"):
        step(batch, q, v, u)
    out = step(batch, q, v, u, on_error="nan")[0]
    assert torch.isfinite(out[0]).all() and torch.isnan(out[1]).all()


def test_jax_jit_vmap_grad(box):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    from jax.test_util import check_grads

    from tangere.jax import rollout, step
    batch = tg.Batch(box, contact="lcp", dt=0.01, threads=1)
    q, v = start(box, 3)
    u = np.zeros((3, 4, box.nu))
    w = np.random.default_rng(5).standard_normal((5, box.nq))

    def loss(q, v, u, mass):
        Q, V = rollout(batch, q, v, u, {"body_mass": mass})
        return jnp.sum(w * Q) + jnp.sum(V)

    mass = box.field("body_mass")
    check_grads(loss, (q[0], v[0], u[0], mass), order=1, modes=["rev"], atol=1e-4, rtol=1e-4, eps=1e-6)
    grad = jax.grad(loss, argnums=(0, 1, 3))
    many = jax.jit(jax.vmap(grad, in_axes=(0, 0, 0, None)))(q, v, u, mass)
    for i in range(3):
        for ours, alone in zip(many, grad(q[i], v[i], u[i], mass)):
            np.testing.assert_allclose(ours[i], alone, rtol=1e-12, atol=1e-12)
    one = jax.jit(lambda q, v, u: step(batch, q, v, u))(q[0], v[0], u[0, 0])
    sim = tg.Sim(box, dt=0.01)
    sim.qpos[:], sim.qvel[:] = tg._tangere.normalize(box, q[0]), v[0]
    sim.step()
    np.testing.assert_allclose(one[0], sim.qpos, rtol=0, atol=1e-15)


def test_charts_are_inverse_on_the_sphere(box):
    q = tg._tangere.normalize(box, start(box, 4)[0])
    g = np.random.default_rng(6).standard_normal((4, box.nv))
    back = tg._tangere.to_tangent(box, q, tg._tangere.from_tangent(box, q, g))
    np.testing.assert_allclose(back, g, atol=1e-14)
    dq = np.random.default_rng(7).standard_normal(box.nv)
    e = 1e-6
    slope = (box.integrate(q[0], e * dq) - box.integrate(q[0], -e * dq)) / (2 * e)
    h = np.random.default_rng(8).standard_normal(box.nq)
    assert tg._tangere.to_tangent(box, q[0], h) @ dq == pytest.approx(h @ slope, abs=1e-9)
