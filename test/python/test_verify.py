"""A motion found is replayed under other conditions; a start may be given."""

import numpy as np
import pytest
import tangere as tg


def task(models, tmp_path, rule, more=""):
    text = (models / "two_balls.yaml").read_text().replace("model: ", f"model: {models}/").replace("options: {", f"options: {{contact_rule: {rule}, ")
    (tmp_path / "t.yaml").write_text(text + more)
    return tg.Task(tmp_path / "t.yaml")


def test_replays(models, tmp_path):
    true, false = task(models, tmp_path, "closing"), task(models, tmp_path, "touching")
    held, lost = true.optimize(), false.optimize()
    assert held.met and held.reached and lost.met and not lost.reached
    row = lost.verification[0]
    assert row["name"] == "finer" and row["verdict"] == "misses" and row["required"] and row["dt"] == pytest.approx(0.005 / 8)
    # the same motion by a simulation of one's own
    sim = tg.Sim(tg.load(models / "two_balls.xml"), contact_rule="touching", dt=0.005 / 8)
    sim.qpos[:], sim.qvel[:], _ = false.expand(lost.x)
    for _ in range(1600):
        sim.step()
    i = 7 * [b for b in ("cue", "ball")].index("ball")
    assert row["distance"] == pytest.approx(np.hypot(*(sim.qpos[i:i + 2] - [0.4, 0.1])), abs=1e-12)
    assert false.verify(lost.x) == lost.verification
    assert false.optimize(verify=False).reached


def test_start(models, tmp_path):
    t = task(models, tmp_path, "closing")
    found = t.optimize()
    again = t.optimize(start=found.x)
    assert np.array_equal(again.first, found.x) and again.iterations <= 2
    with pytest.raises(ValueError):
        t.optimize(start=found.x[:1])


def test_stages(models, tmp_path):
    t = task(models, tmp_path, "touching", "refine: [{timestep: 0.0025, iterations: 3}]\n")
    seen = []
    best = t.optimize(progress=lambda p: seen.append((p["stage"], p["stages"])))
    assert seen[0] == (0, 1) and seen[-1] == (1, 1) and best.iterations == len(seen) == len(best.curve)
    assert best.stage in (0, 1) and not best.reached


def quadratic(tmp_path, effort="effort: off\n"):
    """A task of one control u, with loss (k u - 1)^2, k = h^2/m 55, where speed has no price."""
    (tmp_path / "m.xml").write_text(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='x' type='slide' axis='1 0 0'/>"
        "<geom type='sphere' size='0.1' mass='2'/></body></worldbody><actuator><motor joint='x'/></actuator></mujoco>")
    (tmp_path / "t.yaml").write_text(
        f"model: m.xml\ncontact: lcp\n{effort}horizon: {{steps: 10, timestep: 0.1}}\ncontrols: {{every: 10}}\n"
        "losses: [{term: joint_position, name: x, target: [1], weight: 1}]\noptimizer: {method: adam, iterations: 1}\n")
    return tg.Task(tmp_path / "t.yaml")


def test_trust_of_a_quadratic(tmp_path):
    # x_end = k u, k = h^2/m 55: (k u - 1)^2 is foretold within a factor of 2 up to u = 1/k
    task = quadratic(tmp_path)
    k = 0.01 / 2 * 55
    trust = task.trust(np.zeros(1))
    assert trust["slope"] == pytest.approx(2 * k)
    assert 0.25 / k < trust["range"] <= 1 / k and not trust["beyond"] and trust["label"] == "exact"
    assert trust["by"] == "" and trust["runs"] > 10
    with pytest.raises(ValueError):
        task.trust(np.zeros(1), directions=-1)
    quick = task.trust(np.zeros(1), quick=True)
    assert quick["runs"] < trust["runs"] / 2 and 0.1 / k < quick["range"] <= 1 / k and quick["unstable"] == quick["untimed"] == 0


def test_trust_and_effort_of_an_optimisation(tmp_path):
    task = quadratic(tmp_path)
    assert task.effort == {"share": 0, "weight": 0, "by_default": False, "reason": ""}
    assert task.optimize().trust_first is None
    found = task.optimize(trust=True)
    assert found.trust_first == task.trust(found.first, quick=True) and found.trust_best["loss"] == pytest.approx(found.loss)
    # by default a thousandth of the start's loss, which is 1: v_t = u t h/m adds its mean square
    priced = quadratic(tmp_path, "")
    assert priced.effort == {"share": 0.001, "weight": 0.001, "by_default": True, "reason": ""}
    u, v = 3.0, 3.0 * 0.1 / 2 * np.arange(1, 11)
    assert priced.fun([u])[0] == pytest.approx(task.fun([u])[0] + 0.001 * np.mean(v * v), rel=1e-12)


def test_smoothed_gradient_of_a_quadratic(tmp_path):
    # x_end = k u: the mean of 2 k (k (u + w) - 1) over the samples, and within its error of 2 k (k u - 1)
    task = quadratic(tmp_path)
    k, sigma = 0.01 / 2 * 55, 0.5
    for order in "first", "zeroth", "mixed":
        g, account = task.smoothed_gradient(np.ones(1), order=order, samples=200, sigma=sigma, seed=3)
        assert account["label"] == "smoothed" and "200" in account["reason"] and account["used"] == 200 and account["simulations"] == 201
        assert abs(g[0] - 2 * k * (k - 1)) < 4 * account["error"] / sigma
        assert account["loss"] == pytest.approx((k - 1) ** 2) and account["mean"] == pytest.approx((k - 1) ** 2 + (k * sigma) ** 2, abs=0.05)
    assert 0.5 < account["share"] <= 1
    for bad in {"order": "second"}, {"samples": 1}, {"sigma": -1.0}:
        with pytest.raises((ValueError, tg.Error)):
            task.smoothed_gradient(np.ones(1), **bad)
