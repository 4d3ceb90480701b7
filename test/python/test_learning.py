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


def soft(steps=3):
    """A box on the ground, quaternions not of unit length, under the contact model that has second derivatives."""
    model = tg.loads(BOX.format(z=0.2))
    batch = tg.Batch(model, contact="softmin", dt=0.002, threads=1)
    q, v = start(model, 2)
    q[:, 2] = 0.29
    return model, batch, q, v, np.random.default_rng(9).standard_normal((2, steps, model.nu))


ARM = """<mujoco><option gravity="0 0 -1"/><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.3"><joint name="a" type="ball"/><geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0"/>
<body pos="0.3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0"/></body></body></worldbody><actuator><motor joint="b"/></actuator></mujoco>"""


@pytest.mark.parametrize("which", ["box", "arm"])
def test_torch_gradgradcheck(which):
    torch = pytest.importorskip("torch")
    from tangere.torch import rollout
    if which == "box":
        model, batch, q, v, u = soft()
    else:
        model = tg.loads(ARM)
        batch = tg.Batch(model, contact="softmin", dt=0.002, threads=1)
        rng = np.random.default_rng(2)
        q, v, u = rng.standard_normal((2, model.nq)), rng.standard_normal((2, model.nv)), rng.standard_normal((2, 3, model.nu))
    q, v, u = (torch.tensor(x, requires_grad=x.size > 0) for x in (q, v, u))
    assert torch.autograd.gradgradcheck(lambda q, v, u: rollout(batch, q, v, u), (q, v, u), eps=1e-6, atol=2e-4, rtol=1e-4)


def test_torch_names_what_has_no_second_derivative(box):
    torch = pytest.importorskip("torch")
    from tangere.torch import step
    q, v = (torch.tensor(x, requires_grad=True) for x in start(box, 1))
    u = torch.zeros(1, box.nu, dtype=torch.float64)
    grad, = torch.autograd.grad(step(tg.Batch(box, contact="lcp", dt=0.01, threads=1), q, v, u)[1].sum(), v, create_graph=True)
    with pytest.raises(tg.Error, match="lcp"):
        grad.sum().backward()


def test_jax_hessian():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    from tangere.jax import rollout
    model, batch, q, v, _ = soft()
    u = np.zeros((3, 0))
    w = np.random.default_rng(1).standard_normal((4, model.nq))

    def loss(q, v):
        Q, V = rollout(batch, q, v, u)
        return jnp.sum(w * Q * Q) + jnp.sum(jnp.sin(V))

    gradient = jax.grad(loss, argnums=(0, 1))
    hessian = jax.jit(jax.hessian(loss, argnums=(0, 1)))(q[0], v[0])
    rng, e = np.random.default_rng(3), 1e-6
    d = rng.standard_normal(model.nq), rng.standard_normal(model.nv)
    up, down = (gradient(q[0] + s * e * d[0], v[0] + s * e * d[1]) for s in (1, -1))
    for i in range(2):
        slope = (up[i] - down[i]) / (2 * e)
        np.testing.assert_allclose(hessian[i][0] @ d[0] + hessian[i][1] @ d[1], slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())
    along = jax.jvp(lambda q: jax.grad(loss)(q, v[0]), (q[0],), (d[0],))[1]
    np.testing.assert_allclose(along, hessian[0][0] @ d[0], rtol=1e-9, atol=1e-9 * np.abs(along).max())
    both = jax.vmap(jax.hessian(loss))(q, v)
    np.testing.assert_allclose(both[0], hessian[0][0], rtol=1e-9, atol=1e-9 * np.abs(both).max())


@pytest.mark.parametrize("contact", ["lcp", "barrier", "softmin", "sdrs"])
def test_jax_first_derivatives_of_every_contact_model(contact):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from jax.test_util import check_grads

    from tangere.jax import rollout
    assert contact in tg.contact_models()
    model = tg.loads("""<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.108"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody></mujoco>""")
    batch = tg.Batch(model, contact=contact, dt=0.002, threads=1)
    v = np.array([0.3, 0.1, -0.2, 0.1, 0.0, 0.2])
    check_grads(lambda v: rollout(batch, model.field("qpos0"), v, np.zeros((4, 0)))[1], (v,), order=1, modes=["rev"], atol=1e-4, rtol=1e-4, eps=1e-6)


def test_jax_names_what_has_no_second_derivative(box):
    jax = pytest.importorskip("jax")
    from tangere.jax import step
    batch = tg.Batch(box, contact="lcp", dt=0.01, threads=1)
    q, v = start(box, 1)
    with pytest.raises(Exception, match="lcp"):
        jax.hessian(lambda v: step(batch, q[0], v, np.zeros(0))[1].sum())(v[0]).block_until_ready()
