"""Parameters from noisy motions: found, with error bars that hold in repeated draws of the noise."""
import numpy as np
import pytest

import tangere as tg
from tangere import identify

TRUTH = np.array([1.7, 0.31])
ROWS = [{"name": "body_mass", "of": "block", "start": 1.0, "high": 10}, {"name": "geom_friction", "of": "block", "start": 0.5, "high": 2}]


@pytest.fixture
def block(models):
    """A block that slides, its start, and what it did with the true mass and friction."""
    model = tg.load(models / "slide_block.xml")
    sim = tg.Sim(model, contact="lcp", dt=model.timestep)
    start = model.field("qpos0").copy()
    start[model.joint("x").qadr] = 0.6
    for name, of, value in (("body_mass", ("body", "block"), TRUTH[0]), ("geom_friction", ("geom", "block"), TRUTH[1])):
        array = sim.param(name).copy()
        array[model.find(*of)] = value
        sim.set_param(name, array)
    return sim, start, sim.rollout(steps=60, q0=start).q


def test_exact_data_give_the_truth(block):
    sim, start, q = block
    fit = identify.fit(sim, start, None, q, ROWS, noise=1e-3)
    np.testing.assert_allclose(fit.values, TRUTH, rtol=1e-8)
    assert fit.converged and fit.labels == ["body_mass of block", "geom_friction of block"] and not any(fit.bound)
    assert sim.param("body_mass")[sim.model.find("body", "block")] == fit.values[0]


def test_jacobian_against_differences(block):
    sim, start, q = block
    rng = np.random.default_rng(2)
    unknowns = identify._Unknowns(sim, ROWS)
    data = identify._Data(sim, start, None, None, q + 1e-3 * rng.standard_normal(q.shape), 1.0)
    p = np.array([1.5, 0.4])
    J = data.residuals(sim, unknowns, p)[1]
    for k, e in enumerate((1e-5, 1e-6)):
        d = e * np.eye(2)[k]
        slope = (data.residuals(sim, unknowns, p + d)[0] - data.residuals(sim, unknowns, p - d)[0]) / (2 * e)
        assert abs(J[:, k] - slope).max() < 1e-7 * abs(slope).max()


def test_error_bars_are_those_of_many_draws(block):
    """60 draws of the noise: the spread of the values is the error bar, with the correlation, whether the noise is given or estimated; and
    the truth is as often within two error bars as it should be."""
    from scipy.stats import chi2
    sim, start, q = block
    rng, n, noise = np.random.default_rng(0), 60, 2e-3
    draws = [q + noise * rng.standard_normal(q.shape) for _ in range(n)]
    rows = [{**row, "start": truth} for row, truth in zip(ROWS, TRUTH)]
    fits = [identify.fit(sim, start, None, y, rows, noise=noise if k % 2 else None) for k, y in enumerate(draws)]
    assert all(f.converged for f in fits)
    values, bars = np.array([f.values for f in fits]), np.array([f.std for f in fits])
    low, high = np.sqrt(chi2.ppf([5e-4, 1 - 5e-4], n - 1) / (n - 1))   # of an estimate of a standard deviation, one time in a thousand beyond
    ratio = values.std(0, ddof=1) / bars.mean(0)
    assert (low < ratio).all() and (ratio < high).all()
    assert (abs(values.mean(0) - TRUTH) < 3.3 * bars.mean(0) / np.sqrt(n)).all()
    within = (abs(values - TRUTH) < 2 * bars).mean(0)
    assert (within > 0.85).all()   # 0.954 in truth; 0.85 is four standard deviations of 60 draws below
    assert np.corrcoef(values.T)[0, 1] == pytest.approx(fits[1].correlation[0, 1], abs=0.15)
    assert np.mean([f.sigma for f in fits[1::2]]) == pytest.approx(1, abs=0.05)
    assert np.mean([f.sigma for f in fits[::2]]) == pytest.approx(noise, rel=0.05)


def test_several_motions_and_turns():
    """The moments of a free body that turns, from two motions of which the position was not measured: quaternions have tangents."""
    model = tg.loads('<mujoco><option gravity="0 0 0"/><worldbody><body name="top"><freejoint/>'
                     '<geom type="box" size="0.1 0.2 0.3" mass="1"/></body></worldbody></mujoco>')
    sim = tg.Sim(model, contact=None, dt=0.01)
    v0 = np.array([[0, 0, 0, 1.0, 5.0, 0.3], [0, 0, 0, 4.0, 0.2, -2.0]])
    q0 = np.tile(model.field("qpos0"), (2, 1))
    q = np.stack([sim.rollout(steps=80, q0=a, v0=b).q for a, b in zip(q0, v0)])
    own = sim.param("body_inertia").copy()
    moments = own[model.find("body", "top")]
    rows = [{"name": "body_inertia", "of": "top", "entry": k, "start": 1.2 * moments[k], "low": 1e-4} for k in (0, 1)]
    noise = np.array([np.inf] * 3 + [1e-3] * 3)
    fit = identify.fit(sim, q0, None, q, rows, v0=v0, noise=noise)
    np.testing.assert_allclose(fit.values, moments[:2], rtol=1e-7)
    assert fit.labels[1] == "body_inertia[1] of top" and fit.count == 2 * 80 * 3
    assert "body_inertia[0] of top: " in str(fit)


def test_what_the_motion_leaves_open_is_named(block):
    sim, start, q = block
    flat = {"name": "body_com", "of": "block", "entry": 1, "low": -1}
    with pytest.raises(tg.Error, match=r"do not depend on body_com\[1\] of block"):
        identify.fit(sim, start, None, q, [*ROWS, flat], noise=1e-3)
    # of a mass on a spring only stiffness over mass is seen
    free = tg.loads('<mujoco><option gravity="0 0 0"/><worldbody><body name="ball"><joint name="x" type="slide" stiffness="40"/>'
                    '<geom name="ball" size="0.1" mass="1"/></body></worldbody></mujoco>')
    swing = tg.Sim(free, contact=None, dt=0.01)
    motion = swing.rollout(steps=60, q0=np.array([0.5])).q
    rows = [{"name": "body_mass", "of": "ball"}, {"name": "jnt_stiffness", "of": "x"}]
    with pytest.raises(tg.Error, match="do not tell apart body_mass of ball and jnt_stiffness of x"):
        identify.fit(swing, None, None, motion, rows, noise=1e-3)


BALL = """<mujoco><worldbody><geom name="floor" type="plane" size="9 9 1" friction="0.02"/>
  <body name="ball" pos="0 0 0.5"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom name="ball" size="0.05" mass="0.2" friction="0.12"/></body></worldbody></mujoco>"""


def test_what_a_motion_shows_by_rounding_alone_is_named():
    """What bounces and slides without turning does so with any mass, whose derivatives are roundings."""
    model, rng = tg.loads(BALL), np.random.default_rng(1)
    sim = tg.Sim(model, contact="lcp", dt=0.005)
    sim.set_param("geom_restitution", np.array([0, 0.6]))
    start, speed = model.field("qpos0").copy(), np.array([2.0, 0])
    measured = sim.rollout(steps=120, q0=start, v0=speed).q + 2e-3 * rng.standard_normal((121, 2))
    rows = [{"name": "geom_restitution", "of": "ball", "start": 0.55}, {"name": "geom_friction", "of": "ball", "start": 0.05}]
    how = {"v0": speed, "noise": 2e-3}
    with pytest.raises(tg.Error, match="the motions do not depend on body_mass of ball$"):
        identify.fit(sim, start, None, measured, [*rows, {"name": "body_mass", "of": "ball", "start": 0.3}], **how)
    fit = identify.fit(sim, start, None, measured, rows, **how)
    assert fit.converged and fit.explained and (abs(fit.values - [0.6, 0.12]) < 5 * fit.std).all()


@pytest.mark.parametrize("start", [0.1, 0.0, -0.2])
def test_a_value_of_0_is_found(start):
    """A pendulum whose center of mass hangs straight below its hinge: what is left of the other coordinate is a rounding, its effect is not."""
    sim = tg.Sim(tg.loads("<mujoco><worldbody><body name='arm'><joint name='pivot' type='hinge' axis='0 1 0' damping='0.1'/>"
                          "<geom size='0.1' pos='0 0 -0.5' mass='1'/></body></worldbody></mujoco>"), contact="lcp", dt=0.01)
    measured = sim.rollout(steps=100, q0=np.array([0.5])).q
    rows = [{"name": "dof_damping", "of": "pivot", "start": 0.3}, {"name": "body_com", "of": "arm", "entry": 0, "start": start, "low": -1, "high": 1}]
    fit = identify.fit(sim, None, None, measured, rows, noise=1e-3)
    assert fit.converged and np.allclose(fit.values, [0.1, 0], rtol=0, atol=1e-8) and (fit.std > 1e-6).all()


def test_friction_of_the_geom_that_has_less_is_told(block):
    sim, start, q = block
    ground = {"name": "geom_friction", "of": "floor", "start": 0.01}
    with pytest.raises(tg.Error, match=r"do not depend on geom_friction of floor \(of two geoms in contact the larger one counts, and"):
        identify.fit(sim, start, None, q, [*ROWS, ground], noise=1e-3)


def test_friction_of_a_contact_that_sticks_at_the_start_values_is_told(block):
    sim, start, q = block
    sticks = {"name": "geom_friction", "of": "block", "start": 100.0}
    with pytest.raises(tg.Error, match="do not depend on geom_friction of block .*only where the contact slides"):
        identify.fit(sim, start, None, q, [sticks], noise=1e-3)


def test_residuals_that_noise_does_not_explain_are_told(block):
    """Right where noise and model are, wrong where the measured motion is that of another world; without a noise there is nothing to hold
    them to."""
    sim, start, q = block
    noisy = q + 1e-3 * np.random.default_rng(3).standard_normal(q.shape)
    right = identify.fit(sim, start, None, noisy, ROWS, noise=1e-3)
    assert right.explained and "times those expected" in str(right) and "do not hold" not in str(right)
    other = noisy + 0.02 * np.sin(np.linspace(0, 12, len(q)))[:, None]
    wrong = identify.fit(sim, start, None, other, ROWS, noise=1e-3)
    assert not wrong.explained and wrong.sigma > 3 and "the error bars do not hold" in str(wrong)
    free = identify.fit(sim, start, None, other, ROWS)
    assert free.explained and f"standard deviation of the residuals {free.sigma:.3g}" in str(free)


def test_a_value_at_its_bound_says_so(block):
    sim, start, q = block
    fit = identify.fit(sim, start, None, q, [{**ROWS[0], "high": 1.5}, ROWS[1]], noise=1e-3)
    assert fit.bound == [True, False] and fit.values[0] == 1.5 and "at its bound" in str(fit)


def test_entries_are_those_of_a_task(tmp_path):
    """A task file, an identification and a simulation name the same numbers: vertices by the mesh, dofs of a ball one by one."""
    (tmp_path / "m.xml").write_text("""<mujoco><asset><mesh name="tet" vertex="0 0 0 1 0 0 .2 .2 .2 0 1 0 0 0 1"/></asset><worldbody>
<body name="a"><joint name="ball" type="ball"/><geom name="g" type="mesh" mesh="tet" mass="1"/></body>
<body name="b" pos="3 0 0"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    rows = [("hull_vert", "tet", 14), ("hull_vert", "g", 10), ("dof_damping", "ball", 2), ("body_com", "a", 1), ("opt_gravity", None, 2), ("geom_friction", "g", None)]
    said = "".join(f"- {{name: {name}{f', of: {of}' if of else ''}{f', entry: {entry}' if entry is not None else ''}}}\n" for name, of, entry in rows)
    (tmp_path / "t.yaml").write_text(f"model: m.xml\ncontact: lcp\nhorizon: {{steps: 2}}\nparameters:\n{said}"
                                     "losses: [{term: body_position, name: b, target: [0, 0, 0], weight: 1}]\noptimizer: {method: adam, iterations: 1}\n")
    task, sim = tg.Task(tmp_path / "t.yaml"), tg.Sim(tg.load(tmp_path / "m.xml"), contact="lcp")
    unknowns = identify._Unknowns(sim, [{"name": n} | {k: v for k, v in (("of", o), ("entry", e)) if v is not None} for n, o, e in rows])
    vertices = sim.param("hull_vert").ravel()
    assert [vertices[sim.param_entries(*row)[0][0]] for row in rows[:2]] == [1, 1] and sim.param_entries(*rows[0])[1] == [14]
    x = task.x0.copy()
    x[-len(rows):] += 0.01 * np.arange(1, len(rows) + 1)
    unknowns.put(sim, x[-len(rows):])
    for name in unknowns.names:
        np.testing.assert_array_equal(sim.param(name), task.sim(x).param(name))


@pytest.mark.parametrize("change, text", [
    ({"parameters": []}, "none is sought"),
    ({"parameters": [{"name": "body_mass", "of": "cat"}]}, "nothing called 'cat' that has a body_mass; there are 'world', 'block'"),
    ({"parameters": [{"name": "body_mass"}]}, "needs of"),
    ({"parameters": [ROWS[0], ROWS[0]]}, "sought twice"),
    ({"parameters": [{**ROWS[0], "low": 2}]}, "starts at 1, which is not within 2"),
    ({"parameters": [{**ROWS[0], "lwo": 2}]}, "lwo"),
    ({"measured": np.zeros((4, 5))}, r"measured: shape is \(4, 5\)"),
    ({"measured": np.zeros((2, 2))}, "2 numbers for 2 parameters"),
    ({"q0": np.zeros(3)}, r"q0: shape is \(3,\)"),
    ({"u": np.zeros((3, 3))}, "u: shape"),
    ({"noise": 0.0}, "above 0"),
])
def test_wrong_calls_are_named(block, change, text):
    sim, start, q = block
    given = {"q0": start, "u": None, "measured": q, "parameters": ROWS} | change
    with pytest.raises(ValueError, match=text):
        identify.fit(sim, **given)
