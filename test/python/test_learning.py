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
    assert torch.autograd.gradcheck(lambda q, v: rollout(batch, q, v, u), (q, v), eps=1e-6, atol=1e-5, check_forward_ad=True)
    mass = torch.tensor(box.field("body_mass").copy(), requires_grad=True)
    assert torch.autograd.gradcheck(lambda m: step(batch, q, v, u[:, 0], {"body_mass": m})[1], (mass,), eps=1e-6, atol=1e-5, check_forward_ad=True)


def close(ours, theirs, rtol=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * max(1, abs(np.asarray(theirs)).max()))


def slopes(f, x, e=1e-6):
    """Jacobian of f by central differences, of arrays of any shape."""
    rows = []
    for i in range(x.size):
        d = np.zeros(x.size)
        d[i] = e
        d = d.reshape(x.shape)
        rows.append((np.asarray(f(x + d)) - np.asarray(f(x - d))) / (2 * e))
    return np.stack(rows, -1).reshape(rows[0].shape + x.shape)


def test_torch_func(box):
    torch = pytest.importorskip("torch")
    from torch import func

    from tangere.torch import rollout
    batch = tg.Batch(box, contact="lcp", dt=0.01, threads=1)
    q, v = (torch.tensor(x) for x in start(box, 3))
    u, mass = torch.zeros(3, 4, box.nu, dtype=torch.float64), torch.tensor(box.field("body_mass").copy())
    w = torch.tensor(np.random.default_rng(5).standard_normal((5, box.nq)))

    def loss(q, v, u, mass):
        Q, V = rollout(batch, q, v, u, {"body_mass": mass})
        return (w * Q).sum() + (V ** 2).sum()

    # grad is autograd's, vmap of it is one batch of what each alone gives, whichever comes first; shared parameters have a gradient a row
    grad = func.grad(loss, argnums=(0, 1, 3))
    many = func.vmap(grad, in_dims=(0, 0, 0, None))(q, v, u, mass)
    assert many[2].shape == (3, *mass.shape)
    for i in range(3):
        leaves = [x.clone().requires_grad_() for x in (q[i], v[i], mass)]
        loss(leaves[0], leaves[1], u[i], leaves[2]).backward()
        for ours, alone, leaf in zip(many, grad(q[i], v[i], u[i], mass), leaves):
            close(ours[i], alone)
            close(alone, leaf.grad)
    summed = func.grad(lambda q, mass: func.vmap(loss, in_dims=(0, 0, 0, None))(q, v, u, mass).sum(), argnums=(0, 1))(q, mass)
    close(summed[0], many[0])
    close(summed[1], many[2].sum(0))
    masses = mass * torch.tensor([0.5, 1.0, 2.0])[:, None]
    close(func.vmap(loss, in_dims=(None, 0, None, 0))(q[0], v, u[0], masses)[2], loss(q[0], v[2], u[0], masses[2]))

    # both directions of the Jacobian, against differences
    def motion(v, mass):
        return rollout(batch, q[0], v, u[0], {"body_mass": mass})[1]

    for k in range(2):
        at = [v[0], mass]
        want = slopes(lambda x: motion(*(torch.tensor(x) if i == k else a for i, a in enumerate(at))), at[k].numpy().copy())
        back, ahead = func.jacrev(motion, argnums=k)(*at), func.jacfwd(motion, argnums=k)(*at)
        close(back, ahead, 1e-11)
        close(ahead, want, 1e-6)
    out, rate = func.jvp(lambda v: motion(v, mass), (v[0],), (v[1],))
    close(rate, func.jacfwd(motion)(v[0], mass) @ v[1], 1e-11)
    # a gradient's derivative in the weights needs no second derivative of the step
    weight = torch.tensor(np.random.default_rng(6).standard_normal(out.shape), requires_grad=True)
    pulled = func.vjp(lambda v: motion(v, mass), v[0])[1]
    close(func.vjp(lambda w: pulled(w)[0], weight.detach())[1](v[1])[0], rate, 1e-11)


def test_torch_hessian():
    torch = pytest.importorskip("torch")
    from torch import func

    from tangere.torch import rollout
    model, batch, q, v, u, params = soft_pair()
    q, v, u, mass = (torch.tensor(x) for x in (q, v, u, params["body_mass"]))

    def loss(v, mass):
        Q, V = rollout(batch, q[0], v, u[0], {"body_mass": mass})
        return (Q * Q).sum() + torch.sin(V).sum()

    ahead, back = (outer(func.jacrev(loss, argnums=(0, 1)), argnums=(0, 1))(v[0], mass) for outer in (func.jacfwd, func.jacrev))
    for i in range(2):
        for j in range(2):
            close(ahead[i][j], back[i][j], 1e-10)
    gradient = func.grad(loss, argnums=(0, 1))
    want = slopes(lambda x: gradient(torch.tensor(x), mass)[0], v[0].numpy().copy())
    close(ahead[0][0], want, 1e-5)
    want = slopes(lambda x: gradient(torch.tensor(x), mass)[1], v[0].numpy().copy())
    close(ahead[1][0], want, 1e-5)
    close(func.vmap(func.hessian(loss), in_dims=(0, None))(v, mass)[1], func.hessian(loss)(v[1], mass))
    with pytest.raises(tg.Error, match="reverse mode first"):
        func.jacfwd(func.jacfwd(loss))(v[0], mass)
    with pytest.raises(tg.Error, match="third derivatives"):
        func.jacrev(func.jacrev(func.jacrev(loss)))(v[0], mass)


@pytest.mark.parametrize("contact", ["lcp", "barrier", "softmin", "sdrs", "toi", "damped"])
def test_both_directions_of_every_contact_model(contact):
    torch = pytest.importorskip("torch")
    from torch import func

    from tangere.torch import rollout
    assert contact in tg.contact_models()
    model = tg.loads("""<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.108"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody></mujoco>""")
    batch = tg.Batch(model, contact=contact, dt=0.002, threads=1)
    q, u = torch.tensor(model.field("qpos0").copy()), torch.zeros(4, 0, dtype=torch.float64)
    for v in ([0.3, 0.1, -0.2, 0.1, 0.0, 0.2], [0.3, 0.1, -2.2, 0.1, 0.3, 0.2]):   # free all the time; meets the ground
        v = torch.tensor(v, dtype=torch.float64)

        def motion(v):
            return torch.cat(rollout(batch, q, v, u), -1)

        close(func.jacfwd(motion)(v), func.jacrev(motion)(v), 1e-8)


def test_torch_refuses_plainly(box):
    torch = pytest.importorskip("torch")
    from tangere.torch import rollout
    batch = tg.Batch(box, contact="lcp", dt=0.01, threads=1)
    q, v = (torch.tensor(x) for x in start(box, 3))
    u = torch.zeros(2, 4, box.nu, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"\(3,\), \(3,\) and \(2,\), which do not broadcast"):
        rollout(batch, q, v, u)
    with pytest.raises(ValueError, match="body_mass: shape"):
        rollout(batch, q[:2], v[:2], u, {"body_mass": torch.ones(5, *box.field("body_mass").shape)})
    other = tg.Batch(box, contact="lcp", dt=0.01, threads=1, gradient="softmin")
    with pytest.raises(tg.Error, match="another contact model"):
        torch.func.jacfwd(lambda v: rollout(other, q[0], v, u[0])[1])(v[0])


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


def test_jax_both_directions(box):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from jax.test_util import check_grads

    from tangere.jax import rollout
    batch = tg.Batch(box, contact="lcp", dt=0.01, threads=1)
    q, v = start(box, 3)
    u, mass = np.zeros((4, box.nu)), box.field("body_mass").copy()

    def motion(q, v, mass):
        return rollout(batch, q, v, u, {"body_mass": mass})

    check_grads(motion, (q[0], v[0], mass), order=1, modes=["fwd", "rev"], atol=1e-4, rtol=1e-4, eps=1e-6)
    ahead, back = (jax.jit(jac(motion, argnums=(0, 1, 2)))(q[0], v[0], mass) for jac in (jax.jacfwd, jax.jacrev))
    for i in range(2):
        for a, b in zip(ahead[i], back[i]):
            close(a, b, 1e-11)
    each = jax.vmap(jax.jacfwd(motion), in_axes=(0, 0, None))(q, v, mass)
    close(each[0][0], ahead[0][0], 1e-11)
    rate = jax.jvp(lambda v: motion(q[0], v, mass)[1], (v[0],), (v[1],))[1]
    close(rate, ahead[1][1] @ v[1], 1e-11)
    with pytest.raises(tg.Error, match="reverse mode first"):
        jax.jacfwd(jax.jacfwd(lambda v: motion(q[0], v, mass)[1]))(v[0])


def test_jax_forward_mode_makes_each_jacobian_once(box):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import tangere._lanes as lanes
    from tangere.jax import rollout
    batch, seen, kept = tg.Batch(box, contact="lcp", dt=0.01, threads=1), [], lanes._lane
    q, v = start(box, 2)
    lanes._lane = lambda *a: seen.append(1) or kept(*a)
    try:
        jac = jax.vmap(jax.jacfwd(lambda v, q: rollout(batch, q, v, np.zeros((4, 0)))[1]))(v, q)
    finally:
        lanes._lane = kept
    assert len(seen) == 2 and jac.shape == (2, 5, box.nv, box.nv)   # trajectories, not directions


def test_jax_broadcasts(box):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from tangere.jax import rollout, step
    batch = tg.Batch(box, contact="lcp", dt=0.01, threads=1)
    q, v = start(box, 3)
    u, mass = np.zeros((3, 4, box.nu)), box.field("body_mass")
    Q, V = rollout(batch, q[0], v, u, {"body_mass": mass[None]})
    for i in range(3):
        close(V[i], rollout(batch, q[0], v[i], u[i])[1])
    # what is shared gets the sum
    grad = jax.grad(lambda q, m: rollout(batch, q, v, u, {"body_mass": m})[1].sum(), argnums=(0, 1))(q[0], mass[None])
    each = [jax.grad(lambda q, m: rollout(batch, q, v[i], u[i], {"body_mass": m})[1].sum(), argnums=(0, 1))(q[0], mass) for i in range(3)]
    close(grad[0], sum(e[0] for e in each), 1e-11)
    close(grad[1][0], sum(e[1] for e in each), 1e-11)
    assert step(batch, q[0], v, u[0, 0])[0].shape == (3, box.nq)
    assert step(batch, box.field("qpos0"), np.zeros(box.nv, dtype=int), u[0, 0])[1].dtype == np.float64
    with pytest.raises(ValueError, match="do not broadcast"):
        rollout(batch, q, v, u[:2])


def test_jax_errors_are_short(box):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from tangere.jax import rollout
    batch = tg.Batch(box, contact="lcp", dt=0.01, threads=1)
    q, v = start(box, 2)
    v[1, 0] = np.nan
    for call in (lambda: rollout(batch, q, v, np.zeros((2, 4, 0))),
                 lambda: jax.grad(lambda v: rollout(batch, q, v, np.zeros((2, 4, 0)))[1].sum())(v)):
        with pytest.raises(tg.Error) as failed:
            call()
        assert str(failed.value).startswith("trajectory 1: ") and "\n" not in str(failed.value)
    with pytest.raises(Exception, match="trajectory 1: "):
        jax.jit(lambda v: rollout(batch, q, v, np.zeros((2, 4, 0))))(v)[0].block_until_ready()
    good = jax.jit(lambda v: rollout(batch, q, v, np.zeros((2, 4, 0)), on_error="nan"))(v)[1]
    assert np.isfinite(good[0]).all() and np.isnan(good[1]).all()


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
    twice = jax.jit(jax.jacrev(jax.grad(loss)))(q[0], v[0])
    np.testing.assert_allclose(twice, hessian[0][0], rtol=1e-9, atol=1e-9 * np.abs(twice).max())
    along = jax.jvp(lambda q: jax.grad(loss)(q, v[0]), (q[0],), (d[0],))[1]
    np.testing.assert_allclose(along, hessian[0][0] @ d[0], rtol=1e-9, atol=1e-9 * np.abs(along).max())
    both = jax.vmap(jax.hessian(loss))(q, v)
    np.testing.assert_allclose(both[0], hessian[0][0], rtol=1e-9, atol=1e-9 * np.abs(both).max())


SLIDER = """<mujoco><option gravity="0 0 -9.81"/><worldbody><geom type="plane" size="1 1 1"/><body name="a" pos="0 0 0.3"><freejoint/><geom size="0.1" pos="0.03 0 0" mass="1"/></body>
<body name="b" pos="0.19 0 0.3"><joint name="x" type="slide" axis="1 0 0" damping="0.3"/><geom size="0.1" mass="2"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>"""
CHOSEN = ("body_mass", "body_com", "dof_damping", "contact.stiffness")


def soft_pair():
    """A ball that turns about a point beside its centre touches another under softmin; parameters of bodies, joints and of the contact model itself."""
    model = tg.loads(SLIDER)
    batch = tg.Batch(model, contact="softmin", dt=0.002, stiffness=3000, threads=1)
    rng = np.random.default_rng(4)
    q, v, u = np.tile(model.field("qpos0"), (2, 1)), rng.standard_normal((2, model.nv)), rng.standard_normal((2, 3, model.nu))
    q[:, 3:7] = rng.standard_normal((2, 4))
    sim = batch.sim()
    return model, batch, q, v, u, {name: sim.param(name).copy() for name in CHOSEN}


def free_mask(name, value):
    """Entries of a parameter that may be moved: the world's own are nothing to the motion."""
    mask = np.ones_like(value)
    if name.startswith("body"):
        mask[0] = 0
    return mask


def test_torch_gradgradcheck_in_parameters():
    torch = pytest.importorskip("torch")
    from tangere.torch import rollout
    model, batch, q, v, u, params = soft_pair()
    q, v, u = (torch.tensor(x) for x in (q, v, u))
    scale = {name: torch.tensor(np.where(value == 0, 0.1, value) * free_mask(name, value)) for name, value in params.items()}
    base = {name: torch.tensor(value) for name, value in params.items()}
    at = [torch.zeros(base[name].shape, dtype=torch.float64, requires_grad=True) for name in CHOSEN]   # of each parameter's own size

    def motion(v, u, *moved):
        return rollout(batch, q, v, u, {name: base[name] + scale[name] * m for name, m in zip(CHOSEN, moved)})

    assert torch.autograd.gradcheck(motion, (v, u, *at), eps=1e-6, atol=1e-5)
    v.requires_grad_(), u.requires_grad_()
    assert torch.autograd.gradgradcheck(motion, (v, u, *at), eps=1e-6, atol=2e-4, rtol=1e-4)


def test_torch_parameters_of_each_trajectory():
    torch = pytest.importorskip("torch")
    from tangere.torch import rollout
    model, batch, q, v, u, params = soft_pair()
    q, v, u = (torch.tensor(x) for x in (q, v, u))
    alone, mass = batch.sim().param("body_mass").copy(), torch.tensor(np.stack([params["body_mass"], 1.5 * params["body_mass"]]), requires_grad=True)
    w = torch.tensor(np.random.default_rng(1).standard_normal((2, 4, model.nv)))

    def product(q, v, u, mass, w):
        g, = torch.autograd.grad((w * rollout(batch, q, v, u, {"body_mass": mass})[1]).sum(), mass, create_graph=True)
        return torch.autograd.grad((g * g.detach()).sum(), mass)[0]

    both = product(q, v, u, mass, w)
    for i in range(2):
        one = mass[i].detach().clone().requires_grad_()
        np.testing.assert_allclose(both[i], product(q[i], v[i], u[i], one, w[i]), rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(batch._sim.param("body_mass"), alone)   # the batch's own simulation is as it was


def test_jax_hessian_in_parameters():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    from tangere.jax import rollout
    model, batch, q, v, u, params = soft_pair()
    w = np.random.default_rng(1).standard_normal((4, model.nq))
    start = jnp.asarray(v[0]), params

    def loss(x):
        Q, V = rollout(batch, q[0], x[0], u[0], x[1])
        return jnp.sum(w * Q * Q) + jnp.sum(jnp.sin(V))

    def moved(e, d):
        return start[0] + e * d[0], {name: value + e * d[1][name] for name, value in params.items()}

    rng, gradient, hessian = np.random.default_rng(3), jax.jit(jax.grad(loss)), jax.jit(jax.hessian(loss))(start)
    for only in ("v", *CHOSEN):
        d = (np.zeros(model.nv) if only != "v" else rng.standard_normal(model.nv),
             {n: rng.standard_normal(x.shape) * free_mask(n, x) * (np.abs(x) + 0.1 * (x == 0)) * (n == only) for n, x in params.items()})
        e = 1e-6
        (vu, up), (vd, down) = gradient(moved(e, d)), gradient(moved(-e, d))
        rows = {"v": (vu - vd) / (2 * e), **{n: (up[n] - down[n]) / (2 * e) for n in CHOSEN}}
        for name, slope in rows.items():
            block = hessian[0] if name == "v" else hessian[1][name]
            ours = np.tensordot(block[0], d[0], 1) + sum(np.tensordot(block[1][n], d[1][n], d[1][n].ndim) for n in CHOSEN)
            np.testing.assert_allclose(ours, slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max() + 1e-12, err_msg=f"{name} along {only}")
        along = jax.jvp(jax.grad(loss), (start,), (d,))[1]
        np.testing.assert_allclose(along[0], rows["v"], rtol=1e-5, atol=1e-5 * np.abs(rows["v"]).max() + 1e-12)
    many = jax.vmap(jax.hessian(lambda m, v: jnp.sum(rollout(batch, q[0], v, u[0], {"body_mass": m})[1] ** 2)), in_axes=(None, 0))(params["body_mass"], v)
    one = jax.hessian(lambda m: jnp.sum(rollout(batch, q[0], v[1], u[0], {"body_mass": m})[1] ** 2))(params["body_mass"])
    np.testing.assert_allclose(many[1], one, rtol=1e-10, atol=1e-12 * np.abs(one).max())


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
    with pytest.raises(tg.Error, match="lcp"):
        jax.hessian(lambda v: step(batch, q[0], v, np.zeros(0))[1].sum())(v[0]).block_until_ready()
