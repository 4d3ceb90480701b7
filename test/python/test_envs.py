"""Batched environments with gradients: episodes, gradients of rewards, randomised parameters, failures, Gymnasium's own checks."""
import dataclasses

import numpy as np
import pytest

import tangere as tg

torch = pytest.importorskip("torch")
from tangere import envs  # noqa: E402

NAMES = list(envs.TASKS)


def actions(env, steps, seed=0, size=0.4):
    return size * torch.tensor(np.random.default_rng(seed).uniform(-1, 1, (steps, env.lanes, env.model.nu)))


def run(env, acts, seed=0):
    """Sum of all rewards of a motion, with its gradient."""
    env.reset(seed)
    env.cut()
    return sum(env.step(a)[1].sum() for a in acts)


def ridders(f, e):
    """Derivative of f at 0 by differences of steps that shrink, extrapolated (Ridders 1982), and its error."""
    table, best, error = [], 0.0, np.inf
    for i in range(8):
        h = e / 1.6 ** i
        row = [(f(h) - f(-h)) / (2 * h)]
        for j in range(i):
            row.append((1.6 ** (2 * j + 2) * row[j] - table[-1][j]) / (1.6 ** (2 * j + 2) - 1))
            at = max(abs(row[-1] - row[-2]), abs(row[-1] - table[-1][j]))
            if at < error:
                best, error = row[-1], at
        table.append(row)
    return best, error


@pytest.mark.parametrize("name", NAMES)
def test_gradient_of_the_reward_is_its_slope(name):
    """Along random directions of the actions of all lanes and steps, whatever the lanes touch."""
    env = envs.make(name, 3, threads=1)
    acts = actions(env, 6).requires_grad_()
    run(env, acts).backward()
    for k in range(2):
        along = torch.tensor(np.random.default_rng(10 + k).standard_normal(acts.shape))
        with torch.no_grad():
            slope, error = ridders(lambda h: float(run(env, acts + h * along)), 1e-3)
        ours = float((acts.grad * along).sum())
        assert error < 1e-6 * max(1, abs(slope))
        assert ours == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_rates_and_gradient_are_transposes(name):
    """<w, J d> of forward mode is <J'w, d> of reverse mode, through states, actions and a parameter of one step."""
    env = envs.make(name, 2, threads=1)
    env.reset(3)
    for a in actions(env, 4):
        env.step(a)
    q, v = (x.detach() for x in env.state)
    mass = torch.tensor(np.tile(env.model.field("body_mass"), (2, 1)))
    rng = np.random.default_rng(4)
    at = (q, v, actions(env, 1, 5)[0], mass)
    along = tuple(torch.tensor(rng.standard_normal(x.shape)) for x in at)

    def step(q, v, a, mass):
        return env.transition(q, v, a, {"body_mass": mass})[:3]

    out, rates = torch.func.jvp(step, at, along)
    weights = tuple(torch.tensor(rng.standard_normal(x.shape)) for x in out)
    pulled = torch.func.vjp(step, *at)[1](weights)
    one, other = (float(sum((a * b).sum() for a, b in zip(x, y))) for x, y in ((weights, rates), (pulled, along)))
    assert one == pytest.approx(other, rel=1e-11) and abs(one) > 1e-3


def test_gradient_in_a_parameter():
    """Of what is put into params, beside what is drawn and has none."""
    env = envs.make("push_to_mark", 3, threads=1, randomize=[{"name": "geom_friction", "of": "floor", "low": 0.3, "high": 0.6}])
    acts = torch.ones(20, 3, 1, dtype=torch.float64)
    plain = torch.tensor(np.tile(env.model.field("body_mass"), (3, 1)))

    def total(mass):
        env.params["body_mass"] = mass
        return run(env, acts)

    mass = plain.clone().requires_grad_()
    total(mass).backward()
    assert (mass.grad[:, env.model.find("body", "box")] != 0).all()   # each lane has pushed its box
    along = torch.zeros_like(plain)
    along[1, env.model.find("body", "box")] = 1
    with torch.no_grad():
        slope, error = ridders(lambda h: float(total(plain + h * along)), 1e-3)
    assert error < 1e-6 * abs(slope)
    assert float((mass.grad * along).sum()) == pytest.approx(slope, rel=1e-6)


def test_second_derivatives_beside_drawn_parameters():
    """Of a step's reward in the actions, under softmin, with masses that differ from lane to lane: by differences of gradients."""
    env = envs.make("push_to_mark", 2, threads=1, contact="softmin", dtype=torch.float64,
                    randomize=[{"name": "body_mass", "of": "box", "low": 0.5, "high": 2.0, "times": True}])
    env.reset(0)
    q, v = (x.clone() for x in env.state)
    q[:, 0] = 0.13 + q[:, 1] - 0.005   # the plate at the box, nearly
    v[:, 0] = 0.5
    acts = torch.full((2, 1), 0.3, dtype=torch.float64, requires_grad=True)

    def gradient(a):
        return torch.autograd.grad(env.transition(q, v, a)[2].sum() + env.transition(q, v, a)[1].square().sum(), a, create_graph=True)[0]

    second = torch.autograd.grad(gradient(acts).sum(), acts)[0]
    e = 1e-4
    up, down = (gradient((acts + s * e).detach().requires_grad_()).detach() for s in (1, -1))
    torch.testing.assert_close(second, (up - down) / (2 * e), rtol=1e-5, atol=1e-7)
    assert (second.abs() > 1e-3).all() and abs(second[0] / second[1] - 1) > 1e-3


def test_a_lane_is_the_simulation():
    """Each lane has the motion of a Sim with its start, its drawn parameters and its controls."""
    env = envs.make("half_cheetah", 3, threads=1, randomize=[
        {"name": "body_mass", "of": "pelvis", "low": 0.5, "high": 2.0, "times": True},
        {"name": "dof_damping", "of": "bshin", "low": 0.1, "high": 5.0},
        {"name": "opt_gravity", "entry": 2, "low": -12.0, "high": -8.0}])
    env.reset(7)
    starts, acts = [x.numpy().copy() for x in env.state], actions(env, 5)
    for a in acts:
        env.step(a)
    model, seen = env.model, set()
    for lane in range(3):
        sim = tg.Sim(model, contact="lcp", dt=0.01)
        assert set(env.params) == {"body_mass", "dof_damping", "opt_gravity"}
        for name, rows in env.params.items():
            sim.set_param(name, rows[lane].numpy())
        mass, gravity = sim.param("body_mass"), sim.param("opt_gravity")
        changed = np.flatnonzero(mass != model.field("body_mass"))
        assert list(changed) == [model.find("body", "pelvis")] and 0.5 < mass[changed[0]] / model.field("body_mass")[changed[0]] < 2
        assert list(np.flatnonzero(sim.param("dof_damping") != model.field("dof_damping"))) == [model.joint("bshin").vadr]
        assert -12 < np.ravel(gravity)[2] < -8 and not np.ravel(gravity)[:2].any()
        seen.add(float(mass[changed[0]]))
        sim.qpos[:], sim.qvel[:] = starts[0][lane], starts[1][lane]
        for a in acts:
            for _ in range(2):
                sim.step(60 * a[lane].numpy())
        np.testing.assert_allclose(env.state[0][lane].numpy(), sim.qpos, rtol=0, atol=1e-12)
    assert len(seen) == 3


def test_draws_of_a_lane_do_not_depend_on_the_others():
    draw = [{"name": "body_mass", "of": "cart", "low": 0.5, "high": 2.0}]
    few, many = (envs.make("swing_up", n, randomize=draw) for n in (2, 5))
    few.reset(11), many.reset(11)
    assert torch.equal(few.state[0], many.state[0][:2]) and torch.equal(few.params["body_mass"], many.params["body_mass"][:2])
    before = many.state[0].clone()
    many.reset(mask=np.array([False, True, False, False, True]))
    assert list((many.state[0] != before).any(1).numpy()) == [False, True, False, False, True]
    assert not torch.equal(few.reset(12), few.reset(13)) and torch.equal(few.reset(12), few.reset(12))


def short(**changes):
    return dataclasses.replace(envs.define("swing_up"), **changes)


def test_episodes_end_lane_by_lane():
    """By the task, and when their steps are up; done lanes begin anew, and no gradient goes back from there."""
    env = envs.Env(short(over=lambda q, v: q[:, 0] > 10, steps=3, repeat=1), 2)
    env.reset(0)
    q, v = (x.clone() for x in env.state)
    q[0, 0] = 11.0
    env.put(q, v)
    acts = torch.zeros(4, 2, 1, dtype=torch.float64, requires_grad=True)
    obs, reward, done, info = env.step(acts[0])
    assert list(done) == [True, False] and list(info["terminated"]) == [True, False] and not info["truncated"].any()
    assert info["final"][0, 0] > 10 > obs[0, 0] and torch.equal(info["final"][1], obs[1])
    total = float(reward[1].detach())
    rewards = [env.step(a)[1:] for a in acts[1:3]]
    total += sum(float(r[0][1].detach()) for r in rewards)
    assert list(rewards[-1][1]) == [False, True] and list(rewards[-1][2]["truncated"]) == [False, True]
    assert float(rewards[-1][2]["episode_return"][1]) == pytest.approx(total) and int(rewards[-1][2]["episode_steps"][1]) == 3
    env.step(acts[3])[1].sum().backward()
    assert acts.grad[0, 0] == 0 and acts.grad[2, 1] == 0 and acts.grad[1:, 0].all()   # lane 0 began after step 0, lane 1 after step 2
    assert acts.grad[3].all()


def test_a_lane_that_fails_ends_and_the_others_go_on():
    env = envs.make("push_to_mark", 3, threads=1)
    env.reset(0)
    acts = torch.full((3, 3, 1), 0.5, dtype=torch.float64, requires_grad=True)
    first = env.step(acts[0])[1]
    q, v = (x.clone() for x in env.state)
    v[1] = 1e200   # too fast to be a number
    env.put(q, v)
    obs, reward, done, info = env.step(acts[1])
    assert list(info["failed"]) == list(done) == [False, True, False] and reward[1] == 0
    assert info["error"][1] and not info["error"][0] and torch.isfinite(obs).all()
    (first.sum() + reward.sum() + env.step(acts[2])[1].sum()).backward()
    assert torch.isfinite(acts.grad).all() and acts.grad[1, 1] == 0 and acts.grad[1, 0] != 0 and acts.grad[2, 1] != 0


@pytest.mark.parametrize("rows, text", [
    ([{"name": "body_mas", "of": "cart", "low": 1, "high": 2}], "body_mas"),
    ([{"name": "body_mass", "of": "cat", "low": 1, "high": 2}], "nothing called 'cat' that has a body_mass; there are .*'cart'"),
    ([{"name": "body_mass", "low": 1, "high": 2}], "body_mass needs of: the name of the element"),
    ([{"name": "opt_gravity", "of": "cart", "low": 1, "high": 2}], "whole model"),
    ([{"name": "body_com", "of": "cart", "entry": 3, "low": 1, "high": 2}], "entries 0 to 2, not 3"),
    ([{"name": "body_mass", "of": "cart", "low": 0, "high": 2}], "cannot be 0"),
    ([{"name": "dof_damping", "of": "pole", "low": -1, "high": 2}], "cannot be -1"),
    ([{"name": "body_mass", "of": "cart", "low": 3, "high": 2}], "low and high"),
    ([{"name": "body_mass", "of": "cart", "low": 1, "high": 2, "hgih": 3}], "hgih"),
    ([{"name": "opt_timestep", "low": 0.01, "high": 0.02}], "opt_timestep"),
], ids=lambda x: x if isinstance(x, str) else None)
def test_wrong_rows_are_named(rows, text):
    with pytest.raises(ValueError, match=text):
        envs.make("swing_up", 2, randomize=rows)


def test_wrong_calls_are_named():
    with pytest.raises(ValueError, match="no environment 'walker'; there are swing_up"):
        envs.make("walker")
    with pytest.raises(ValueError, match="lanes: 0"):
        envs.make("swing_up", 0)
    env = envs.make("swing_up", 2)
    with pytest.raises(ValueError, match=r"action: shape is \(2,\), \(2, 1\)"):
        env.step(torch.zeros(2))
    with pytest.raises(ValueError, match="action: entry 0 of lane 1 is nan"):
        env.step(torch.tensor([[0.0], [float("nan")]]))
    with pytest.raises(ValueError, match="mask: shape"):
        env.reset(mask=[True])
    with pytest.raises(ValueError, match="q: shape"):
        env.put(torch.zeros(2, 3), torch.zeros(2, 2))
    with pytest.raises(ValueError, match="made no step"):
        env.render()
    with pytest.raises(ValueError, match="watch=2"):
        env.render(1)
    with pytest.raises(ValueError, match="reward: shape"):
        envs.Env(short(reward=lambda q, v, a, q1, v1: q), 2).step(torch.zeros(2, 1))
    free = tg.loads('<mujoco><worldbody><body><joint name="x" type="slide"/><geom size="0.1"/></body></worldbody>'
                    '<actuator><motor name="pull" joint="x"/></actuator></mujoco>')
    with pytest.raises(ValueError, match="scale: the actuator 'pull' has no range"):
        envs.Env(short(model=free), 2)


def test_a_reset_lets_go_of_the_gradient():
    """A second backward pass does not meet the graph of the first, which is gone: after a reset, and after steps in which all lanes ended."""
    env = envs.make("swing_up", 2, seed=0)
    for _ in range(2):
        env.reset()
        a = torch.zeros(2, 1, dtype=torch.float64, requires_grad=True)
        env.step(a)[1].sum().backward()
        assert torch.isfinite(a.grad).all()
    env = envs.Env(short(steps=1), 2, seed=0)
    for _ in range(2):
        a = torch.zeros(2, env.model.nu, dtype=torch.float64, requires_grad=True)
        _, reward, done, _ = env.step(a)
        assert done.all()
        reward.sum().backward()


def test_types_of_tensors():
    env = envs.make("hopper", 2, dtype=torch.float32)
    obs, reward, done, _ = env.step(torch.zeros(2, 3))
    assert obs.dtype == reward.dtype == torch.float32 and done.dtype == torch.bool and env.state[0].dtype == torch.float64


def test_page_of_an_episode(tmp_path):
    env = envs.make("hopper", 2)
    for a in actions(env, 3):
        env.step(a)
    try:
        page = env.render()
    except tg.Error as missing:
        pytest.skip(str(missing))
    env.write(tmp_path / "page.html")
    assert "<html" in page and (tmp_path / "page.html").stat().st_size == pytest.approx(len(page.encode()), rel=1e-3)


def test_gymnasium():
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    import tangere.gym
    assert sorted(tangere.gym.IDS.values()) == sorted(envs.TASKS)
    for name in tangere.gym.IDS:
        env = gymnasium.make(name)
        check_env(env.unwrapped, skip_render_check=True)
    many = gymnasium.make_vec("tangere/SwingUp-v0", num_envs=3, definition=short(steps=4))
    lane = gymnasium.make("tangere/SwingUp-v0", definition=short(steps=4), render_mode="html")
    obs, _ = many.reset(seed=5)
    assert many.observation_space.contains(obs)
    first, _ = lane.reset(seed=5)
    np.testing.assert_array_equal(obs[0], first)   # the first lane's draws, however many there are
    for t in range(4):
        obs, reward, terminated, truncated, info = many.step(np.full((3, 1), 0.1))
        alone = lane.step(np.array([0.1]))
        assert reward[0] == alone[1] and truncated.all() == alone[3] == (t == 3) and not terminated.any()
    np.testing.assert_array_equal(info["final_obs"][0], alone[0])
    assert not np.array_equal(obs[0], alone[0])
    obs, _ = many.reset(options={"reset_mask": np.array([True, False, False])})
    assert many.observation_space.contains(obs)
