"""The Gymnasium environment of a task file."""
import numpy as np
import pytest

import tangere as tg

gymnasium = pytest.importorskip("gymnasium")


@pytest.fixture
def env(models):
    from tangere.gym import TaskEnv
    return TaskEnv(models / "half_cheetah_reach.yaml")


def test_gymnasiums_own_check(env):
    from gymnasium.utils.env_checker import check_env
    check_env(env, skip_render_check=True)


def test_rewards_add_up_to_the_loss(env):
    task = env.task
    x = task.x0 + 0.3 * np.random.default_rng(0).standard_normal(task.size)
    u = task.expand(x)[2]
    env.reset(seed=0)
    rewards = [env.step(u[t]) for t in range(task.steps)]
    assert -sum(r[1] for r in rewards) == pytest.approx(task.fun(x)[0], rel=1e-12)
    assert rewards[-1][3] and not rewards[-2][3]
    with pytest.raises(tg.Error, match="over"):
        env.step(u[0])


def test_gradient_of_the_step_is_in_reach(env):
    env.reset(seed=0)
    env.step(env.action_space.sample())
    J = env.sim.jacobians()
    assert J.A.shape == (18, 18) and np.isfinite(J.A).all()


def test_step_and_cost_in_one_are_the_two(models):
    task = tg.Task(models / "half_cheetah_reach.yaml")
    one, two, rng = task.sim(), task.sim(), np.random.default_rng(1)
    for t in range(30):
        one.ctrl[:] = two.ctrl[:] = 3 * rng.standard_normal(6)
        cost = task.cost(two, t)
        two.step()
        assert task._step(one, t) == cost
        np.testing.assert_array_equal(one.qpos, two.qpos)
        np.testing.assert_array_equal(one.qvel, two.qvel)
    np.testing.assert_array_equal(one.jacobians().A, two.jacobians().A)
    with pytest.raises(ValueError, match="t: 0"):
        task._step(one, task.steps)


def test_a_step_that_fails_ends_the_episode(env):
    env.reset(seed=0)
    out = env.step(np.full(6, np.nan))
    assert out[2] and "finite" in out[4]["error"]


def test_start_is_moved_by_noise(models):
    from tangere.gym import TaskEnv
    env = TaskEnv(models / "half_cheetah_reach.yaml", noise=0.1)
    a, b, c = env.reset(seed=1)[0], env.reset(seed=2)[0], env.reset(seed=1)[0]
    assert np.abs(a - b).max() > 1e-3 and np.array_equal(a, c)
    del env.task
    env.sim.step()   # its sim keeps the task alive


def test_a_sim_of_another_task_is_refused(models, cheetah):
    with pytest.raises(ValueError, match="sim"):
        tg.Task(models / "half_cheetah_reach.yaml").cost(tg.Sim(cheetah), 0)
