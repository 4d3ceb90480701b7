"""The learner of the example: its returns, its gradient, and that it learns; against PPO in make test-long."""
import importlib.util
import os
import pathlib

import numpy as np
import pytest

import tangere as tg

torch = pytest.importorskip("torch")
from tangere import envs  # noqa: E402
from tangere.examples import shac  # noqa: E402

MASS = '<mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body></worldbody>' \
       '<actuator><motor joint="x" ctrlrange="-2 2" ctrllimited="true"/></actuator></mujoco>'


@pytest.fixture(autouse=True)
def one_thread():
    """Small networks: PyTorch's threads only wait for one another."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def rail(lanes, **changes):
    """A mass on a rail that is to come to the middle and stay."""
    settings = dict(steps=30, dt=0.1, contact=None) | changes
    return envs.Env(envs.Definition(tg.loads(MASS), lambda q, v: torch.cat([q, v], 1), lambda q, v, a, q1, v1: -(q1[:, 0] ** 2) - 0.1 * v1[:, 0] ** 2,
                                    lambda rng, model: (rng.uniform(-1, 1, 1), np.zeros(1)), **settings), lanes, dtype=torch.float32)


@pytest.mark.parametrize("critic", [True, False])
def test_it_learns(critic):
    """From about -9, a policy that does nothing, to the neighbourhood of what holds the mass: 5,000 steps."""
    env, test = rail(16), rail(32)
    returns = []
    settings = shac.Settings(horizon=16, critic=critic, critic_epochs=4, actor_rate=1e-2)
    policy = shac.learn(env, 5_120, settings, progress=lambda steps, p: steps or returns.append(shac.judge(test, lambda o: p(o, noise=False))))
    after = shac.judge(test, lambda o: policy(o, noise=False))
    assert returns[0] < -7 and after > -3.5, (returns, after)


def test_gradient_of_the_policys_return():
    """Of a window's loss in the weights of the policy, through episodes that end in it and the critic beyond; along a direction, by
    differences with the same noise."""
    env = rail(4, steps=7)
    env.dtype = torch.float64
    torch.manual_seed(0)
    policy, critic = shac.Policy(2, 1, 8).double(), shac.network(2, 1, 8).double()
    policy.mean, policy.square = policy.mean.double(), policy.square.double()
    settings = shac.Settings(horizon=10)
    weights = list(policy.parameters())

    def loss():
        torch.manual_seed(1)
        return shac.window(env, policy, lambda o: critic(o).squeeze(-1), settings, env.reset(2))[0]

    loss().backward()
    along = [torch.randn_like(w) for w in weights]
    ours = sum(float((w.grad * d).sum()) for w, d in zip(weights, along))

    def at(h):
        with torch.no_grad():
            for w, d in zip(weights, along):
                w.add_(h * d)
            value = float(loss())
            for w, d in zip(weights, along):
                w.sub_(h * d)
        return value

    one, two = ((at(h) - at(-h)) / (2 * h) for h in (2e-4, 1e-4))
    assert ours == pytest.approx((4 * two - one) / 3, rel=1e-7) and abs(ours) > 1e-3


def test_targets_of_the_critic():
    """lambda 1: discounted rewards to the end of the window or of the episode and the value beyond; lambda 0: one step and the value."""
    rng = np.random.default_rng(0)
    reward, after = (torch.tensor(rng.standard_normal((6, 2))) for _ in range(2))
    last = torch.zeros(6, 2, dtype=torch.bool)
    last[5], last[2, 1] = True, True
    long = shac.targets(reward, after, last, shac.Settings(gamma=0.9, lam=1.0))
    for lane, (begin, end) in ((0, (0, 5)), (1, (0, 2)), (1, (3, 5))):
        want = sum(0.9 ** k * float(reward[begin + k, lane]) for k in range(end - begin + 1)) + 0.9 ** (end - begin + 1) * float(after[end, lane])
        assert float(long[begin, lane]) == pytest.approx(want, rel=1e-12)
    short = shac.targets(reward, after, last, shac.Settings(gamma=0.9, lam=0.0))
    np.testing.assert_allclose(short, reward + 0.9 * after)


def test_scale_of_observations():
    """Running mean and spread are those of all that was seen."""
    rng, policy = np.random.default_rng(0), shac.Policy(3, 1, 4)
    parts = [torch.tensor(5 + 3 * rng.standard_normal((n, 3)), dtype=torch.float32) for n in (10, 40, 7)]
    for part in parts:
        policy.learn_scale(part)
    seen = torch.cat(parts)
    torch.testing.assert_close(policy.mean, seen.mean(0), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(policy.square, seen.var(0, unbiased=False), rtol=1e-3, atol=1e-3)


@pytest.mark.skipif("TANGERE_LONG" not in os.environ, reason="make test-long")
@pytest.mark.parametrize("task, learners", [("half_cheetah", ["shac", "first-order"]), ("swing_up", ["shac"])])
def test_beats_ppo_at_equal_steps(task, learners):
    """The learners of docs/learning.md, one seed: more at the end of 40,000 steps than PPO of stable-baselines3."""
    pytest.importorskip("stable_baselines3")
    path = pathlib.Path(__file__).resolve().parents[2] / "bench/learning.py"
    spec = importlib.util.spec_from_file_location("learning", path)
    learning = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(learning)
    last = {learner: learning.curve(learner, task, 40_000, 0, 5)[-1][1] for learner in ("ppo", *learners)}
    assert all(last[learner] > last["ppo"] for learner in learners), last
