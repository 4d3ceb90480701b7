"""Where tensors and arrays lie, and of which type: PyTorch, JAX and the environments, on the CPU and, where there is one, on a GPU.

What comes back is on the device of what was given, of the widest type of it; gradients are of their own tensors' types; the numbers are
those of the CPU, bit by bit, as the engine computes there in float64."""
import os
import subprocess
import sys

import numpy as np
import pytest

import tangere as tg

BALLS = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 0.105"><freejoint/><geom size="0.1" mass="1"/></body>
<body name="b" pos="0.3 0 0.4"><joint type="slide" axis="1 0 0" name="x"/><geom size="0.1" mass="2"/></body></worldbody>
<actuator><motor joint="x" gear="3"/></actuator></mujoco>"""
NO_GPU = "no GPU is here"


@pytest.fixture
def model():
    return tg.loads(BALLS)


def arrays(model, n=2, steps=6):
    rng = np.random.default_rng(3)
    q = np.tile(model.field("qpos0"), (n, 1)) + 0.02 * rng.standard_normal((n, model.nq))
    return q, 0.3 * rng.standard_normal((n, model.nv)), rng.standard_normal((n, steps, model.nu)), model.field("body_mass").copy()


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip(NO_GPU)
    return torch.device(request.param, 0 if request.param == "cuda" else None)


def run_torch(model, tensors, contact="lcp"):
    """The motion, and the gradients of a weighted sum of it."""
    import torch

    from tangere.torch import rollout
    batch = tg.Batch(model, contact=contact, dt=0.005, threads=2)
    leaves = [t.clone().requires_grad_() for t in tensors]
    q, v = rollout(batch, *leaves[:3], {"body_mass": leaves[3]})
    loss = (q.sin() * torch.arange(q.numel(), device=q.device, dtype=q.dtype).reshape(q.shape)).sum() + v.square().sum()
    loss.backward()
    return [q.detach(), v.detach(), *(leaf.grad for leaf in leaves)]


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert np.array_equal(a.cpu().numpy(), b.cpu().numpy())


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16"])
def test_torch_gives_back_device_and_type(model, device, name):
    import torch
    dtype = getattr(torch, name)
    here = [torch.tensor(a).to(dtype) for a in arrays(model)]
    out = run_torch(model, [t.to(device) for t in here])
    assert {(x.device, x.dtype) for x in out} == {(device, dtype)}
    # the numbers are those of the tensors' values in float64, rounded once
    motion = run_torch(model, [t.double() for t in here])[:2]
    assert all(torch.equal(a.cpu(), b.to(dtype)) for a, b in zip(out, motion))
    if name == "float64":
        same(out, run_torch(model, here))


def test_torch_takes_tensors_of_several_types(model, device):
    import torch
    q, v, u, mass = (torch.tensor(a, device=device) for a in arrays(model))
    given = [q.float(), v, u.to(torch.float16), mass.float()]
    out = run_torch(model, given)
    assert all(x.device == device for x in out)
    assert [x.dtype for x in out] == [torch.float64] * 2 + [t.dtype for t in given]   # a float32 start does not round float64 velocities
    whole = run_torch(model, [t.double() for t in given])
    assert all(torch.equal(a, b.to(a.dtype)) for a, b in zip(out, whole))
    still = [torch.zeros(n, dtype=torch.int64, device=device) for n in (model.nq, model.nv)]
    from tangere.torch import rollout
    still[0][3] = 1
    batch = tg.Batch(model, dt=0.005, threads=1)
    assert rollout(batch, *still, torch.zeros(3, 1, dtype=torch.float32, device=device))[0].dtype == torch.float32
    assert rollout(batch, *still, torch.zeros(3, 1, dtype=torch.int32, device=device))[0].dtype == torch.get_default_dtype()


def test_torch_takes_tensors_of_any_layout_and_flags(model, device):
    import torch

    from tangere.torch import rollout
    q, v, u, mass = (torch.tensor(a, device=device) for a in arrays(model))
    batch = tg.Batch(model, dt=0.005, threads=1)
    plain = rollout(batch, q, v, u, {"body_mass": mass})
    strided = [t.mT.contiguous().mT for t in (q, v)] + [u.repeat_interleave(2, 1)[:, ::2]]
    assert not strided[0].is_contiguous()
    same(rollout(batch, *strided, {"body_mass": mass}), plain)
    flipped = torch.complex(torch.zeros_like(v), -v).conj().imag   # its sign is a flag
    assert flipped.is_neg()
    same(rollout(batch, q, flipped, u, {"body_mass": mass}), plain)
    with torch.inference_mode():
        same(rollout(batch, q, v, u, {"body_mass": mass}), plain)
    # a gradient where it is asked for, none elsewhere, and the same one whoever else asks
    every = run_torch(model, [q, v, u, mass])
    for k in range(4):
        leaves = [t.clone().requires_grad_(i == k) for i, t in enumerate((q, v, u, mass))]
        Q, V = rollout(tg.Batch(model, contact="lcp", dt=0.005, threads=2), *leaves[:3], {"body_mass": leaves[3]})
        ((Q.sin() * torch.arange(Q.numel(), device=device, dtype=Q.dtype).reshape(Q.shape)).sum() + V.square().sum()).backward()
        assert [leaf.grad is not None for leaf in leaves] == [i == k for i in range(4)]
        same([leaves[k].grad], [every[2 + k]])


def test_torch_names_what_it_cannot_take(model, device):
    import torch

    from tangere.torch import rollout, step
    batch = tg.Batch(model, dt=0.005, threads=1)
    q, v, u, mass = (torch.tensor(a, device=device) for a in arrays(model))
    for given, error, text in (((q, v, u.to("meta")), ValueError, "u: is on the device meta, where tensors have no values"),
                               ((q, v + 1j, u), TypeError, "v0: a dense tensor of real numbers is needed, not one of torch.complex128"),
                               ((q, v.to_sparse(), u), TypeError, "v0: a dense tensor .* torch.sparse_coo"),
                               ((q, v.cpu().numpy(), u), TypeError, "v0: a torch.Tensor is needed, not ndarray")):
        with pytest.raises(error, match=text):
            rollout(batch, *given)
    with pytest.raises(ValueError, match="body_mass: is on the device meta"):
        step(batch, q, v, u[:, 0], {"body_mass": mass.to("meta")})
    with pytest.raises(Exception, match="'u'"):   # no parameter is called so
        rollout(batch, q, v, u, {"u": u})
    with pytest.raises(TypeError, match="u: a torch.Tensor is needed, not ndarray"):
        step(batch, q, v, u[:, 0].cpu().numpy())
    if device.type == "cuda":
        with pytest.raises(ValueError, match="v0: is on the device cpu, q0 on cuda:0; all are needed on one"):
            rollout(batch, q, v.cpu(), u)


def test_torch_func_on_the_device(model, device):
    import torch
    from torch import func

    from tangere.torch import rollout
    q, v, u, mass = (torch.tensor(a) for a in arrays(model, steps=3))
    batch = tg.Batch(model, contact="softmin", dt=0.002, threads=1)

    def results(where):
        at = [t.to(where) for t in (q, v, u, mass)]

        def loss(q, v, u, mass):
            Q, V = rollout(batch, q, v, u, {"body_mass": mass})
            return Q.square().sum() + V.sin().sum()

        lane = (at[0][0], at[1][0], at[2][0], at[3])
        return [func.jacfwd(loss, argnums=1)(*lane), func.jacrev(loss, argnums=3)(*lane), func.hessian(loss, argnums=1)(*lane),
                func.vmap(func.grad(loss, argnums=2), in_dims=(0, 0, 0, None))(*at)]

    ours = results(device)
    assert all(x.device == device for x in ours)
    for a, b in zip(ours, results("cpu")):
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-12, atol=1e-12)   # PyTorch's own sines and sums


def test_torch_compile_calls_it(model):
    """A function that is compiled calls the engine between its graphs."""
    torch = pytest.importorskip("torch")
    from tangere.torch import rollout
    q, v, u, mass = (torch.tensor(a) for a in arrays(model))
    batch = tg.Batch(model, dt=0.005, threads=1)

    def loss(u):
        return rollout(batch, q, v, torch.tanh(u))[0].square().sum()

    ours, plain = u.clone().requires_grad_(), u.clone().requires_grad_()
    torch.compile(loss, backend="eager")(ours).backward()
    loss(plain).backward()
    same([ours.grad], [plain.grad])


def test_environment_on_the_device(device):
    """A policy there: all that step returns lies there, and the gradient is that of the CPU."""
    import torch

    from tangere import envs

    def gradient(where, dtype):
        drawn = [{"name": "body_mass", "of": "foot", "low": 0.9, "high": 1.1, "times": True}]
        env = envs.make("hopper", 3, seed=2, device=where, dtype=dtype, randomize=drawn)
        rows = {name: torch.tensor(env.model.field(name), device=where).repeat(3, 1, 1).reshape(3, *env.model.field(name).shape)
                for name in ("act_gear", "geom_friction")}
        gear = rows["act_gear"].requires_grad_()
        env.params |= rows
        obs = env.reset(mask=torch.tensor([True, False, True], device=where))
        weights = torch.zeros(env.size, env.model.nu, dtype=dtype, device=where, requires_grad=True)
        for _ in range(4):
            obs, reward, done, info = env.step(torch.tanh(obs @ weights))
            for x in (obs, reward, done, *(x for x in info.values() if isinstance(x, torch.Tensor))):
                assert x.device == torch.device(where)
            assert obs.dtype == reward.dtype == info["final"].dtype == dtype
        torch.where(done, 0.0, reward).sum().backward()
        return [weights.grad, gear.grad]

    ours = gradient(device, torch.float64)
    for a, b in zip(ours, gradient(torch.device("cpu"), torch.float64)):
        assert a.device == device
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-10, atol=1e-12)   # sums of products on another processor
    low = gradient(device, torch.float32)
    assert low[0].dtype == torch.float32 and low[1].dtype == torch.float64


def test_environment_where_tensors_are_made_elsewhere(device):
    """torch.set_default_device says where people's tensors are made, not where the engine's are."""
    import torch

    from tangere import envs
    torch.set_default_device("meta" if device.type == "cpu" else device)
    try:
        env = envs.make("swing_up", 2, seed=0, device=device)
        obs, _, done, _ = env.step(torch.zeros(2, 1, device=device))
        env.reset(seed=1)
    finally:
        torch.set_default_device(None)
    assert obs.device == done.device == device and np.isfinite(obs.cpu().numpy()).all()


def test_gymnasium_of_an_environment_on_the_device(device):
    gymnasium = pytest.importorskip("gymnasium")
    import tangere.gym   # noqa: F401
    many = gymnasium.make_vec("tangere/SwingUp-v0", num_envs=2, device=device)
    many.reset(seed=0)
    obs, reward, *_ = many.step(np.zeros((2, 1)))
    assert isinstance(obs, np.ndarray) and isinstance(reward, np.ndarray)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)   # on the CPU test_examples.py runs it
def test_actor_critic_on_the_device(device):
    import torch

    from tangere import envs
    from tangere.examples import shac
    env = envs.make("swing_up", 2, seed=0, dtype=torch.float32, device=device)
    policy = shac.learn(env, 16, shac.Settings(horizon=4, critic_epochs=1))
    assert policy.mean.device == next(policy.parameters()).device == device
    assert torch.isfinite(policy(env.reset())).all()


@pytest.fixture(params=["cpu", "gpu"])
def place(request):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    try:
        return jax.devices(request.param)[0]
    except RuntimeError:
        pytest.skip(NO_GPU)


def run_jax(model, given, contact="lcp", wrap=lambda f: f):
    import jax
    import jax.numpy as jnp

    from tangere.jax import rollout
    batch = tg.Batch(model, contact=contact, dt=0.005, threads=1)

    def loss(q, v, u, mass):
        Q, V = rollout(batch, q, v, u, {"body_mass": mass})
        return jnp.sum(Q ** 2) + jnp.sum(V ** 2), (Q, V)

    grads, motion = wrap(jax.grad(loss, argnums=(0, 1, 2, 3), has_aux=True))(*given)
    return [*motion, *grads]


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16"])
def test_jax_gives_back_device_and_type(model, place, name):
    import jax
    given = [jax.device_put(jax.numpy.asarray(a, dtype=name), place) for a in arrays(model)]
    whole = run_jax(model, [np.asarray(x).astype(float) for x in given])
    for wrap in (lambda f: f, jax.jit):
        out = run_jax(model, given, wrap=wrap)
        assert {str(x.dtype) for x in out} == {name} and all(x.devices() == {place} for x in out)
        for ours, want in zip(out[:2], whole):   # rounded once
            assert np.array_equal(np.asarray(ours), np.asarray(want).astype(ours.dtype))
    if name == "float64":
        for ours, want in zip(out, whole):
            np.testing.assert_allclose(np.asarray(ours), np.asarray(want), rtol=1e-13, atol=1e-13)


def test_jax_takes_arrays_of_several_types(model, place):
    import jax
    q, v, u, mass = (jax.device_put(jax.numpy.asarray(a), place) for a in arrays(model))
    given = [q.astype("float32"), v, u.astype("float16"), mass.astype("float32")]
    out = run_jax(model, given)
    assert [x.dtype for x in out] == [np.dtype("float64")] * 2 + [x.dtype for x in given]
    with pytest.raises(TypeError, match="v0: an array of real numbers is needed, not one of complex128"):
        run_jax(model, [q, v + 1j, u, mass])


def test_jax_transforms_on_the_device(model, place):
    import jax

    from tangere.jax import rollout
    q, v, u, mass = (jax.device_put(jax.numpy.asarray(a), place) for a in arrays(model, steps=3))
    batch = tg.Batch(model, contact="softmin", dt=0.002, threads=1)

    def loss(v, u):
        Q, V = rollout(batch, q[0], v, u)
        return (Q ** 2).sum() + (V ** 2).sum()

    ahead, hessian = jax.jacfwd(loss)(v[0], u[0]), jax.jit(jax.hessian(loss))(v[0], u[0])
    np.testing.assert_allclose(np.asarray(ahead), np.asarray(jax.grad(loss)(v[0], u[0])), rtol=1e-11, atol=1e-11)
    many = jax.jit(jax.vmap(jax.grad(loss, argnums=1)))(v, u)
    assert all(x.devices() == {place} for x in (ahead, hessian, many))
    np.testing.assert_allclose(np.asarray(many[1]), np.asarray(jax.grad(loss, argnums=1)(v[1], u[1])), rtol=1e-12, atol=1e-12)


TWO = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, numpy as np, tangere as tg, tangere.jax as tj
model = tg.loads({model!r})
batch = tg.Batch(model, dt=0.005, threads=1)
one, two = jax.devices()
q, v, u = (jax.device_put(np.asarray(x, "float32"), two) for x in (model.field("qpos0"), np.zeros(model.nv), np.zeros((3, model.nu))))
for run in (lambda f: f, jax.jit):
    for x in (*run(lambda v: tj.rollout(batch, q, v, u))(v), run(jax.grad(lambda v: tj.rollout(batch, q, v, u)[1].sum()))(v),
              run(jax.jacfwd(lambda v: tj.rollout(batch, q, v, u)[1][-1]))(v)):
        assert x.devices() == {{two}} and x.dtype == np.float32, (x.devices(), x.dtype)
try:
    tj.rollout(batch, q, jax.device_put(v, one), u)
except ValueError as error:
    print(error)
"""


def test_jax_on_the_second_of_two_devices():
    """float32, which is JAX's default, and a device that is not the default one."""
    pytest.importorskip("jax")
    done = subprocess.run([sys.executable, "-c", TWO.format(model=BALLS)], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "one device is needed for all" in done.stdout
