"""Trajectories, batches, tasks, and Ctrl-C."""
import signal
import threading

import numpy as np
import pytest

import tangere as tg


def controls(model, steps, seed=0, n=None):
    shape = (steps, model.nu) if n is None else (n, steps, model.nu)
    return 0.3 * np.random.default_rng(seed).standard_normal(shape)


def test_rollout_is_its_steps(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    U = controls(cheetah, 20)
    roll = sim.rollout(U)
    for t, u in enumerate(U):
        np.testing.assert_array_equal(roll.q[t], sim.qpos)
        sim.step(u)
    np.testing.assert_array_equal(roll.v[-1], sim.qvel)


def test_backward_against_differences(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    U = controls(cheetah, 30)
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((31, cheetah.nv))

    def loss(U):
        return np.sum(weight * sim.rollout(U).q)   # the cheetah's positions are their own tangents

    g = sim.rollout(U).backward(dq=weight)
    d, e = rng.standard_normal(U.shape), 1e-6
    reference = (loss(U + e * d) - loss(U - e * d)) / (2 * e)
    assert np.sum(g.u * d) == pytest.approx(reference, rel=1e-5)


def test_last_state_alone(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    roll = sim.rollout(controls(cheetah, 10))
    w = np.zeros((11, cheetah.nv))
    w[-1] = 1
    np.testing.assert_array_equal(roll.backward(dv=w).u, roll.backward(dv=w[-1]).u)


def test_set_parameters_hold_in_rollouts(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    before = sim.rollout(steps=20).q[-1]
    sim.set_param("body_mass", 3 * sim.param("body_mass"))
    assert np.abs(sim.rollout(controls(cheetah, 20)).q[-1] - before).max() > 1e-6


def test_gradient_in_the_step_size(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    U = controls(cheetah, 10)
    w = np.ones(cheetah.nv)

    def loss(h):
        sim.set_param("opt_timestep", [h])
        return w @ sim.rollout(U).q[-1]

    reference = (loss(0.01 + 1e-7) - loss(0.01 - 1e-7)) / 2e-7
    sim.set_param("opt_timestep", [0.01])
    g = sim.rollout(U).backward(dq=w, params=["opt_timestep"]).params["opt_timestep"]
    assert g == pytest.approx(reference, rel=1e-5)
    batch = tg.Batch(cheetah, dt=0.01, threads=1)
    np.testing.assert_array_equal(batch.rollout(u=U[None]).backward(dq=w[None], params=["opt_timestep"]).params["opt_timestep"][0], g)
    with pytest.raises(ValueError, match="steps of its dt"):
        batch.rollout(u=U[None], params={"opt_timestep": np.full((1, 1), 0.02)})


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_batch_gives_the_bits_of_single_rollouts(cheetah, threads):
    U = controls(cheetah, 25, n=5)
    batch = tg.Batch(cheetah, dt=0.01, threads=threads)
    rolls = batch.rollout(u=U)
    grads = rolls.backward(dq=np.ones((5, cheetah.nv)), params=["body_mass"])
    sim = tg.Sim(cheetah, dt=0.01)
    for i in range(5):
        roll = sim.rollout(U[i])
        g = roll.backward(dq=np.ones(cheetah.nv), params=["body_mass"])
        np.testing.assert_array_equal(rolls.q[i], roll.q)
        np.testing.assert_array_equal(grads.u[i], g.u)
        np.testing.assert_array_equal(grads.params["body_mass"][i], g.params["body_mass"])


def test_a_failing_trajectory_leaves_the_others(cheetah):
    U = controls(cheetah, 10, n=3)
    U[1, 4, 0] = np.nan
    rolls = tg.Batch(cheetah, dt=0.01, threads=2).rollout(u=U)
    assert rolls.ok == [True, False, True] and rolls.steps[1] == 4 and "finite" in rolls.error[1]


def test_parameters_of_each_trajectory(cheetah):
    batch = tg.Batch(cheetah, dt=0.01, threads=2)
    mass = np.stack([cheetah.field("body_mass"), 2 * cheetah.field("body_mass")])
    U = np.broadcast_to(controls(cheetah, 10), (2, 10, cheetah.nu)).copy()
    rolls = batch.rollout(u=U, params={"body_mass": mass})
    alone = batch.rollout(u=U)
    np.testing.assert_array_equal(rolls.q[0], alone.q[0])
    assert np.abs(rolls.q[1] - alone.q[1]).max() > 1e-9


def test_task_with_scipy(models):
    minimize = pytest.importorskip("scipy.optimize").minimize
    task = tg.Task(models / "cartpole.yaml")
    found = minimize(task.fun, task.x0, jac=True, bounds=task.bounds, method="L-BFGS-B", options={"maxiter": 60})
    assert found.fun < 0.2 * task.fun(task.x0)[0]


def test_task_optimizes_and_reports(models):
    seen = []
    found = tg.Task(models / "half_cheetah_reach.yaml", iterations=5).optimize(progress=lambda p: seen.append(p["iteration"]), verify=False)
    assert found.loss < found.first_loss and seen == sorted(seen) and len(seen) >= 5


@pytest.fixture
def handler():
    """Python's handler of SIGINT, which is not set where the tests run in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_leaves_what_there_is(cheetah, handler):
    sim = tg.Sim(cheetah, dt=0.01)
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sim.rollout(steps=3_000_000)
    part = sim.interrupted
    assert 0 < part.steps < 3_000_000 and np.isfinite(part.q[: part.steps]).all()
    assert signal.getsignal(signal.SIGINT) is handler
    sim.step()
