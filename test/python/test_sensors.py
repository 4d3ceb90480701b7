"""Sensors from Python: of a simulation, of many states, along a step, and what is refused."""
import numpy as np
import pytest

import tangere as tg

XML = """<mujoco><worldbody><geom type="plane" size="2 2 1"/><body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/>
<geom type="capsule" size=".03 .2" pos="0 0 -.2"/><site name="tip" pos="0 0 -.4"/></body></worldbody>
<actuator><motor name="m" joint="hinge"/></actuator>
<sensor><jointpos name="angle" joint="hinge"/><gyro name="gyro" site="tip"/><accelerometer name="imu" site="tip"/><actuatorfrc actuator="m"/>
<framepos name="where" objtype="site" objname="tip"/><rangefinder name="eye" site="tip"/></sensor></mujoco>"""


@pytest.fixture
def model():
    return tg.loads(XML)


def test_list_and_notes(model):
    kinds = [(s["name"], s["type"], s["adr"], s["width"]) for s in model.sensor_list()]
    assert kinds == [("angle", "jointpos", 0, 1), ("gyro", "gyro", 1, 3), ("imu", "accelerometer", 4, 3), ("", "actuatorfrc", 7, 1),
                     ("where", "framepos", 8, 3)]
    assert model.names("sensor") == ["angle", "gyro", "imu", "", "where"]
    assert any('rangefinder "eye"' in note for note in model.notes)


def test_a_pendulum(model):
    """Closed forms: a point on an arm of 0.4 m at angle q with speed w and acceleration a."""
    q, w, a = 0.3, 0.7, -1.1
    value = model.sensors([[q]], [[w]], [[2.5]], [[a]])[0]
    want = [q, 0, w, 0, -0.4 * a + 9.81 * -np.sin(q), 0, 0.4 * w * w + 9.81 * np.cos(q), 2.5, -0.4 * np.sin(q), 0, 1 - 0.4 * np.cos(q)]
    assert value == pytest.approx(want, abs=1e-12)


def test_of_a_step_and_of_states(model):
    sim = tg.Sim(model, contact="lcp", dt=0.01)
    with pytest.raises(tg.Error, match="sensor 'imu'"):
        sim.sensors()
    sim.qpos[0] = 0.4
    v = sim.qvel.copy()
    sim.step([0.5])
    before, value = sim.jacobians().A, sim.sensors()
    assert np.array_equal(sim.jacobians().A, before)
    qacc = (sim.qvel - v) / 0.01
    assert np.allclose(value, sim.sensors(qacc), rtol=0, atol=1e-12)
    assert np.array_equal(model.sensors([sim.qpos] * 2, [sim.qvel] * 2, [sim.ctrl] * 2, [qacc] * 2)[1], sim.sensors(qacc))


def test_derivatives(model):
    sim, e = tg.Sim(model, dt=0.01), 1e-6
    q, v, u, a = np.array([0.3]), np.array([0.7]), np.array([0.2]), np.array([-1.1])
    sim.qpos[:], sim.qvel[:], sim.ctrl[:] = q, v, u
    D = sim.sensors_d(a)

    def at(**moved):
        x = {"q": q, "v": v, "u": u, "qacc": a} | moved
        return model.sensors(**{k: y[None] for k, y in x.items()})[0]

    for name, given, have in (("q", q, D.q), ("v", v, D.v), ("u", u, D.u), ("qacc", a, D.a)):
        assert have.shape == (11, 1)
        assert have[:, 0] == pytest.approx((at(**{name: given + e}) - at(**{name: given - e})) / (2 * e), abs=1e-8)


def test_refused(model):
    with pytest.raises(ValueError, match="v"):
        model.sensors([[0.1]], [[0.1, 0.2]])
    with pytest.raises(tg.Error, match="sensor 'imu'"):
        model.sensors([[0.1]])
    plain = tg.loads("<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>")
    assert tg.Sim(plain).sensors().shape == (0,) and plain.sensor_list() == []
