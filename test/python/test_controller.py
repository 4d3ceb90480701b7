"""A controller plans from measured states: the same plans as the task's receding horizon, due when it means to, and what it refuses."""
import numpy as np
import pytest

import tangere as tg
from tangere import replay

MODEL = """<mujoco><option timestep="0.02"/><worldbody><geom type="plane" size="2 2 1" friction="0.4"/>
<body name="block" pos="0 0 0.1"><joint name="x" type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.0999" mass="2"/></body>
</worldbody><actuator><motor joint="x" ctrlrange="-20 20"/></actuator></mujoco>"""
TASK = """model: m.xml
contact: lcp
horizon: {steps: 40}
controls: {every: 2}
losses:
  - {term: joint_position, name: x, target: [0.3], weight: 1}
  - {term: joint_position, name: x, target: [0.3], weight: 1, at: all}
  - {term: control, weight: 1.0e-5}
optimizer: {method: ilqr, iterations: 6}
receding: {horizon: 20, apply: 4}
"""


@pytest.fixture
def task(tmp_path):
    (tmp_path / "m.xml").write_text(MODEL)
    (tmp_path / "t.yaml").write_text(TASK)
    return tg.Task(tmp_path / "t.yaml")


def test_does_what_the_receding_horizon_does(task):
    found = task.optimize(verify=False)
    sim, c, done = task.sim(), tg.Controller(task), []
    assert c.last == {} and c.interval == pytest.approx(0.08)
    for k in range(20):   # the windows that do not reach past the task's end
        u = c(k * task.dt, sim.qpos, sim.qvel)
        done.append(u[0])
        sim.ctrl[:] = u
        sim.step()
    assert np.array_equal(done, task.expand(found.x)[2][:20, 0])
    assert c.last["time"] == pytest.approx(0.32) and c.last["u"].shape == (20, 1) and c.last["dt"] == task.dt
    assert c.last["loss"] <= c.last["first_loss"] and c.last["iterations"] <= 6 and c.last["label"] in ("exact", "one-sided")
    assert np.array_equal(c.control(c.last["time"] + 3 * task.dt), c.last["u"][3])


def test_plans_only_when_due(task):
    c = tg.Controller(task, iterations=1)
    c(0.0, [0.0], [0.0])
    first = c.last
    c(0.079, [0.1], [0.0])
    assert c.last["time"] == 0.0
    assert np.array_equal(c(0.039, [0.1], [0.0]), first["u"][1])
    c(0.08, [0.1], [0.0])
    assert c.last["time"] == 0.08
    assert c.plan(0.09, [0.1], [0.0])["time"] == 0.09
    c(0.02, [0.2], [0.0])   # an episode that begins anew
    assert c.last["time"] == 0.02


def test_starts_from_a_motion_that_is_given(task):
    found = task.optimize(verify=False)
    u = task.expand(found.x)[2]
    cold = tg.Controller(task).plan(0.0, [0.0], [0.0])["first_loss"]
    c = tg.Controller(task)
    c.give(u, task.dt)
    assert c.last == {}
    warm = c.plan(0.0, [0.0], [0.0])["first_loss"]
    assert warm < 0.5 * cold
    c.give(u[:0], task.dt)
    assert c.last == {} and c.plan(0.0, [0.0], [0.0])["first_loss"] == cold
    with pytest.raises(ValueError, match="u: shape"):
        c.give(u[:, 0], task.dt)
    with pytest.raises(tg.Error, match="no motion"):
        c.give(u, 0.0)


def test_searches_where_plans_stall(tmp_path):
    """A pusher that does not touch its ball has no slope; the second plan that falls short has a search, whose motion is better."""
    (tmp_path / "m.xml").write_text("""<mujoco><option timestep="0.05" gravity="0 0 0"/><worldbody>
<body><joint name="x" type="slide" axis="1 0 0"/><geom type="sphere" size="0.1" mass="1"/></body>
<body pos="0.4 0 0"><joint name="ball" type="slide" axis="1 0 0" damping="2"/><geom type="sphere" size="0.1" mass="1"/></body>
</worldbody><actuator><motor joint="x"/></actuator></mujoco>""")
    (tmp_path / "t.yaml").write_text("""model: m.xml
contact: lcp
horizon: {steps: 40}
controls: {every: 4, low: -4, high: 4}
losses: [{term: joint_position, name: ball, target: [0.5], weight: 1}]
optimizer: {method: adam, iterations: 5, stop_loss: 0.01}
receding: {horizon: 40, apply: 4}
search: {method: cem, iterations: 4, population: 12, sigma: 2, correlation: 0.8, plans: 2}
""")
    found = []
    for _ in range(2):
        c = tg.Controller(tg.Task(tmp_path / "t.yaml"), threads=1)
        first = c.plan(0.0, [0.0, 0.0], [0.0, 0.0])
        assert first["searched"] == 0 and np.isnan(first["unsearched"]) and first["loss"] == 0.25
        second = c.plan(0.0, [0.0, 0.0], [0.0, 0.0])
        assert second["searched"] > 0 and second["unsearched"] == 0.25 and second["loss"] < 0.15
        found.append(second["u"])
    assert np.array_equal(*found)


def test_refusals(task, tmp_path):
    with pytest.raises(tg.Error, match="no plan yet"):
        tg.Controller(task).control(0.0)
    with pytest.raises(ValueError, match="qpos"):
        tg.Controller(task)(0.0, [0.0, 1.0], [0.0])
    with pytest.raises(tg.Error, match="time is not finite"):
        tg.Controller(task)(float("nan"), [0.0], [0.0])
    with pytest.raises(tg.Error, match="must not be negative"):
        tg.Controller(task, seconds=-1.0)
    with pytest.raises(TypeError, match="a Task is needed"):
        tg.Controller("no task")
    (tmp_path / "s.yaml").write_text(TASK.replace("controls: {every: 2}", "controls: {basis: sines, terms: 2}").replace("receding", "#"))
    with pytest.raises(tg.Error, match="basis: steps, and nothing else"):
        tg.Controller(tg.Task(tmp_path / "s.yaml"))


def test_page_of_states_from_elsewhere(tmp_path):
    model = tg.loads(MODEL)
    with pytest.raises(ValueError, match="states of 1 numbers"):
        replay.write(tmp_path / "p.html", model, q=np.zeros((3, 2)), dt=0.1)
    with pytest.raises(ValueError, match="between states"):
        replay.write(tmp_path / "p.html", model, q=np.zeros((3, 1)), dt=0.0)
    with pytest.raises(ValueError, match=r"controls of shape \(2, 1\)"):
        replay.write(tmp_path / "p.html", model, q=np.zeros((3, 1)), dt=0.1, u=np.zeros((3, 1)))
    try:
        replay.write(tmp_path / "p.html", model, q=np.linspace(0, 1, 11)[:, None], dt=0.1)
    except tg.Error as missing:
        pytest.skip(str(missing))
    assert (tmp_path / "p.html").stat().st_size > 1000
