"""The package's simulation: values against closed forms, derivatives against differences, arguments that are wrong."""
import pickle

import numpy as np
import pytest

import tangere as tg

FALL = """<mujoco><worldbody><body pos="0 0 10"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>"""


def test_fall_from_rest():
    sim = tg.Sim(tg.loads(FALL), contact=None, dt=0.01)
    for _ in range(10):
        sim.step()
    # symplectic Euler: z = 10 - g h^2 (1 + 2 + ... + 10)
    assert sim.qpos[2] == pytest.approx(10 - 9.81 * 1e-4 * 55, abs=1e-12)
    assert sim.qvel[2] == pytest.approx(-9.81 * 0.1, abs=1e-12)


def test_state_is_a_view_that_stays():
    sim = tg.Sim(tg.loads(FALL), contact=None, dt=0.01)
    q = sim.qpos
    q[2] = 5
    sim.step()
    assert q is not sim.qpos and q[2] == sim.qpos[2] < 5
    del sim
    assert q[2] < 5


def test_views_outlive_growth(models):
    sim = tg.Sim(tg.load(models / "cubes.xml"), contact="lcp")
    q = sim.qpos
    for _ in range(20):
        sim.step()
    np.testing.assert_array_equal(q, sim.qpos)


def test_jacobian_against_differences(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    rng = np.random.default_rng(0)
    sim.qpos[:] += 0.1 * rng.standard_normal(cheetah.nq)
    sim.qpos[1] += 1
    start = sim.qpos.copy(), 0.1 * rng.standard_normal(cheetah.nv)

    def step(dv, du):
        sim.qpos[:], sim.qvel[:] = start[0], start[1] + dv
        sim.step(du)
        return np.concatenate([cheetah.difference(start[0], sim.qpos), sim.qvel])

    step(np.zeros(cheetah.nv), np.zeros(cheetah.nu))
    J = sim.jacobians()
    assert J.label == "exact"
    e = 1e-5
    for i in range(cheetah.nv):
        d = np.zeros(cheetah.nv)
        d[i] = e
        column = (step(d, np.zeros(cheetah.nu)) - step(-d, np.zeros(cheetah.nu))) / (2 * e)
        np.testing.assert_allclose(J.A[:, cheetah.nv + i], column, atol=1e-7)
    for i in range(cheetah.nu):
        d = np.zeros(cheetah.nu)
        d[i] = e
        column = (step(np.zeros(cheetah.nv), d) - step(np.zeros(cheetah.nv), -d)) / (2 * e)
        np.testing.assert_allclose(J.B[:, i], column, atol=1e-7)


def test_vjp_is_the_jacobians_transpose(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    for _ in range(30):
        sim.step()
    J = sim.jacobians(params=["body_mass"])
    rng = np.random.default_rng(1)
    gq, gv = rng.standard_normal((2, cheetah.nv))
    g = sim.vjp(gq, gv, params=["body_mass"])
    w = np.concatenate([gq, gv])
    np.testing.assert_allclose(np.concatenate([g.q, g.v]), w @ J.A, atol=1e-9 * np.abs(J.A).max())
    np.testing.assert_allclose(g.u, w @ J.B, atol=1e-9 * np.abs(J.B).max())
    np.testing.assert_allclose(g.params["body_mass"], w @ J.params["body_mass"], atol=1e-9 * np.abs(J.params["body_mass"]).max())


def test_gradcheck_passes_and_prints(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    for _ in range(30):
        sim.step()
    before = sim.qpos.copy()
    check = tg.gradcheck(sim)
    assert check and "passed" in repr(check) and len(check.blocks) >= 7
    np.testing.assert_array_equal(before, sim.qpos)


def test_gradcheck_of_steps_with_impacts(tmp_path):
    """Parameters move the times of impacts: right derivatives pass."""
    (tmp_path / "landing.xml").write_text("""<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='5 5 .1' friction='.5'/>
        <body pos='0 0 .35'><freejoint/><geom type='sphere' size='.1' mass='1'/></body>
        <body pos='1 0 .4'><freejoint/><geom type='box' size='.1 .08 .06' mass='1'/></body></worldbody></mujoco>""")
    model = tg.load(tmp_path / "landing.xml")
    for contact in "lcp", "toi":
        sim = tg.Sim(model, contact)
        sim.qpos[:] = [0, 0, .3501, 1, 0, 0, 0, 1, 0, .4, *np.array([.9, .3, .2, .1]) / np.sqrt(.95)]
        sim.qvel[:] = [1, .3, -1, .5, 2, 1, .5, .2, -1, 1, 2, 3]
        for step in range(19):
            if step in (14, 15, 17, 18):
                check = tg.gradcheck(sim)
                assert check, f"{contact}, step {step}: {check!r}"
            sim.step()


def test_parameters_are_set_whole(cheetah):
    sim = tg.Sim(cheetah, contact=None)
    mass = sim.param("body_mass")
    with pytest.raises(ValueError):
        mass[1] = 3   # a copy: an assignment would be lost
    sim.set_param("body_mass", 2 * mass)
    np.testing.assert_array_equal(sim.param("body_mass"), 2 * mass)
    sim.reset()
    np.testing.assert_array_equal(sim.param("body_mass"), 2 * mass)
    assert cheetah.field("body_mass")[1] == mass[1]


def test_the_step_size_is_a_parameter(cheetah):
    sim = tg.Sim(cheetah, dt=0.01)
    np.testing.assert_array_equal(sim.param("opt_timestep"), [0.01])
    sim.set_param("opt_timestep", [0.004])
    assert sim.dt == 0.004
    sim.dt = 0.002
    assert sim.param("opt_timestep") == 0.002
    sim.reset()
    assert sim.dt == 0.002
    same = tg.Sim(cheetah, dt=0.002)
    for s in (sim, same):
        s.step()
    np.testing.assert_array_equal(sim.qpos, same.qpos)
    np.testing.assert_array_equal(sim.rollout(steps=5).q, same.rollout(steps=5).q)
    for wrong in ([0.0], [-1.0], [float("nan")], [1.0, 2.0]):
        with pytest.raises(ValueError):
            sim.set_param("opt_timestep", wrong)
    assert sim.dt == 0.002


def test_every_parameter_is_read_back(cheetah):
    """What set_param takes, param shows."""
    sim = tg.Sim(cheetah, contact="barrier", dt=0.002)
    for name in sim.param_names:
        before = sim.param(name)
        sim.set_param(name, 1.5 * before)
        np.testing.assert_array_equal(sim.param(name), 1.5 * before)
        sim.set_param(name, before)


CUBE = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.105"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
</worldbody></mujoco>"""


def test_numbers_of_the_contact_model():
    sim = tg.Sim(tg.loads(CUBE), contact="barrier", dt=0.01, weight=1e-5)
    assert "contact.weight" in sim.param_names and sim.param("contact.weight") == 1e-5

    def height(mu):
        sim.set_param("contact.weight", np.array([mu]))
        return sim.rollout(steps=5)

    g = height(1e-5).backward(dq=np.eye(6)[2], params=["contact.weight"])
    e = 1e-9
    slope = (height(1e-5 + e).q[-1, 2] - height(1e-5 - e).q[-1, 2]) / (2 * e)
    assert g.params["contact.weight"][0] == pytest.approx(slope, rel=1e-5)


def test_what_a_contact_model_warns_of():
    with pytest.warns(UserWarning, match="eps"):
        tg.Sim(tg.loads(CUBE), contact="barrier", eps=0.3)


def test_inverse_and_forward_dynamics_agree(cheetah):
    sim = tg.Sim(cheetah, contact=None)
    rng = np.random.default_rng(2)
    sim.qvel[:] = rng.standard_normal(cheetah.nv)
    qacc = rng.standard_normal(cheetah.nv)
    np.testing.assert_allclose(sim.acceleration(sim.inverse_dynamics(qacc)), qacc, atol=1e-9)


@pytest.mark.parametrize("call, error, text", [
    (lambda s: s.step(np.zeros(3)), ValueError, r"u: shape is \(3,\), \(6,\) is needed"),
    (lambda s: s.step(np.zeros(6, np.float32)), TypeError, "u: dtype is float32, float64 is needed"),
    (lambda s: s.step(np.zeros((6, 2))[:, 0]), ValueError, "u: not C-contiguous"),
    (lambda s: s.step("abc"), TypeError, "u: not an array of numbers"),
    (lambda s: s.step([0, 0, 0, 0, 0, float("nan")]), tg.Error, "finite"),
    (lambda s: s.param("body_weight"), KeyError, "body_weight"),
    (lambda s: s.set_param("body_mass", np.zeros(2)), ValueError, "body_mass: shape"),
    (lambda s: s.jacobians(), tg.Error, "step"),
    (lambda s: s.reset("nowhere"), KeyError, "keyframe 'nowhere'"),
    (lambda s: s.model.find("body", "tail"), KeyError, "no body called 'tail'"),
    (lambda s: tg.Sim(s.model, contact="magic"), tg.Error, "magic.*lcp.*barrier"),
    (lambda s: tg.Sim(s.model, stiffnes=1), tg.Error, "stiffnes"),
    (lambda s: tg.Sim(s.model, dt=-1), ValueError, "dt"),
    (lambda s: s.vjp(params=["qpos"]), tg.Error, "."),
])
def test_what_is_wrong_is_named(cheetah, call, error, text):
    with pytest.raises(error, match=text):
        call(tg.Sim(cheetah, dt=0.01))


def test_error_says_where():
    with pytest.raises(tg.Error) as caught:
        tg.loads("<mujoco>\n<worldbody>\n<body><freejoint/></body></worldbody></mujoco>")
    assert caught.value.line == 3 and caught.value.status < 0
    with pytest.raises(tg.Error, match="nowhere.xml"):
        tg.load("nowhere.xml")


def test_closed(cheetah):
    with tg.Sim(cheetah) as sim:
        sim.step()
    with pytest.raises(tg.Error, match="Sim is closed"):
        sim.step()
    model = tg.loads(FALL)
    kept = tg.Sim(model, contact=None)
    model.close()
    with pytest.raises(tg.Error, match="Model is closed"):
        model.nq
    kept.step()   # keeps what it was made of


def test_two_threads_in_one_sim(models):
    import threading
    task = tg.Task(models / "half_cheetah_reach.yaml")
    failures, stop = [], threading.Event()

    def other():
        while not stop.is_set():
            try:
                task.fun(task.x0)
            except tg.Error as e:
                failures.append(str(e))

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(50):
        try:
            task.fun(task.x0)
        except tg.Error as e:
            failures.append(str(e))
    stop.set()
    thread.join()
    assert failures and all("in use by another thread" in f for f in failures)
    with pytest.raises(tg.Error, match="or by the call that this is a callback of"):
        task.optimize(progress=lambda p: task.fun(task.x0))


def test_what_is_printed_says_what_it_is(models, tmp_path):
    task = tg.Task(models / "cartpole.yaml")
    assert repr(task) == f"<tangere.Task '{models / 'cartpole.yaml'}': {task.size} variables, {task.steps} steps, contact '{task.contact}', method '{task.method}'>"
    batch = tg.Batch(tg.loads(BALLS))
    start = np.array([[0.0, 0.0], [np.nan, 0.0], [0.1, 0.0]])
    assert repr(batch.rollout(q0=start, steps=3)) == "<tangere.BatchRollout: 2 of 3 trajectories of 3 steps ok>"
    (tmp_path / "t.yaml").write_text("model: m.xml\ncontact: softmin\nhorizon: {steps: 2}\ninitial: [{joint: x1, part: velocity}]\nrestitution: [{geom: 'a', value: 0.5}]\n"
                                     "losses: [{term: joint_position, name: x1}]\noptimizer: {method: adam, iterations: 1}\n")
    (tmp_path / "m.xml").write_text(BALLS.replace("<geom size", "<geom name='a' size", 1))
    with pytest.warns(UserWarning, match="restitution"):
        tg.Task(tmp_path / "t.yaml")


@pytest.mark.parametrize("kind", ["float32", "O", ">f8", "complex128"])
def test_the_type_that_an_array_has_is_named(kind):
    """also where the interface between packages has none: objects, the other order of bytes"""
    sim = tg.Sim(tg.loads(BALLS))
    with pytest.raises(TypeError, match="^q0: dtype is (" + str(np.dtype(kind)) + "), float64 is needed$"):
        sim.rollout(steps=2, q0=np.zeros(2).astype(kind))


BALLS = """<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody>
<body><joint name='x1' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>
<body pos='.313 0 0'><joint name='x2' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body></worldbody></mujoco>"""


def test_motioncheck():
    true = tg.Sim(tg.loads(BALLS), contact="lcp", dt=0.01)
    true.qvel[:] = [1, 0]
    assert tg.motioncheck(true, steps=30).gradient == "converges"
    sim = tg.Sim(tg.loads(BALLS), contact="lcp", contact_rule="touching", dt=0.01)
    sim.qvel[:] = [1, 0]
    met = tg.motioncheck(sim, steps=30)
    assert not met and met.gradient == "grows" and met.reason.startswith("the gradient grows as h^-")
    assert 0.8 < met.growth < 1.2 and "q0 of joint 'x" in met.entry and met.reason in repr(met)
    np.testing.assert_allclose(met.h, [0.01, 0.005, 0.0025, 0.00125])
    assert met.errors[0] < 1e-6 and met.widths[-1] == 0.01 and len(met.values) == len(met.gradients) == len(met.entries) == 4
    np.testing.assert_array_equal(sim.qvel, [1, 0])
    apart = tg.motioncheck(sim, steps=5, halvings=2)
    assert apart and apart.ok and apart.value == apart.gradient == "converges" and apart.reason == "" and apart.holds_to == 0.01
    for bad in ({"steps": 0}, {"halvings": 9}, {"controls": np.zeros((3, 4))}):
        with pytest.raises(ValueError):
            tg.motioncheck(sim, **bad)


def test_a_mocap_body_is_where_it_is_put():
    model = tg.loads("""<mujoco><worldbody><body name="hand" mocap="true" pos="0 0 1"><geom type="box" size=".2 .2 .1"/></body>
                        <body pos="0 0 1.25"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    assert any("mocap body hand stays where it is drawn" in note for note in model.notes)
    sim = tg.Sim(model, contact="lcp", dt=2e-3)
    for height in (1.0, 0.5):
        place = sim.param("body_pos").copy()
        place[1, 2] = height
        sim.set_param("body_pos", place)
        for _ in range(300):
            sim.step()
        assert abs(sim.qpos[2] - (height + 0.2)) < 1e-7


def test_numbers_of_damped_contact():
    scene = FALL.replace("<worldbody>", """<asset><mesh name="m" vertex="-1 -1 0 1 -1 0 0 1 0 0 0 1"/></asset><worldbody>
        <geom type="mesh" mesh="m" pos="0 0 -3"/>""")
    sim = tg.Sim(tg.loads(scene), contact="damped", dt=0.01, resting_gap=0.002, reach=5, mesh_cells=40)
    law, = sim.contact_laws()
    weight = 2 * 9.80665
    assert law["geom1"] == 0 and law["geom2"] == 1 and law["weight"] == pytest.approx(weight)
    assert law["strength"] == pytest.approx(weight * 0.002) and law["stiffness"] == pytest.approx(weight / 0.002)
    assert law["damping_time"] == pytest.approx(2 * (0.002 / 9.80665) ** 0.5)
    assert law["reach"] == 5 and law["left_out"] == pytest.approx(weight * 0.002 / 2.5)
    assert law["missed"] == 0     # the ball's one proxy is the ball
    boxes = FALL.replace("<worldbody>", """<worldbody><geom type="box" size=".1 .1 .1"/><body pos="0 0 1"><freejoint/>
        <geom type="box" size=".1 .08 .06" mass="1"/></body>""")
    missed = [x["missed"] for x in tg.Sim(tg.loads(boxes), contact="damped").contact_laws()]
    assert max(missed) == pytest.approx(0.05) and min(missed) == 0   # edges of 0.2 m have proxies at their ends and middles
    grid, = sim.contact_grids()
    assert grid["geom"] == 0 and grid["spacing"] == pytest.approx(2 / 40) and grid["bytes"] == 8 * np.prod(grid["nodes"])
    assert 0 < grid["error"] < grid["spacing"]
    far = tg.Sim(tg.loads(scene), contact="damped", resting_gap=0.002, mesh_cells=40).contact_laws()[0]
    assert far["reach"] == np.inf and far["left_out"] == 0
    plain = tg.Sim(tg.loads(FALL), contact=None)
    assert plain.contact_laws() == [] and plain.contact_grids() == []


def test_several_answers():
    """A rod that leans at tan = 2, slides and hardly leaves the floor: it may part, slide or stick where friction is above 4/3 (Painleve)."""
    scene = """<mujoco><option gravity="0 0 0"/><worldbody><geom type="plane" size="9 9 1" friction="%g"/>
    <body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".333 .333 .333"/><geom pos="0 0 -1" size=".01" friction="0"/></body>
    </worldbody></mujoco>"""
    for friction, several in ((2, 1), (1, 0)):
        sim = tg.Sim(tg.loads(scene % friction), contact="lcp", dt=1e-3)
        sim.watch_answers()
        sim = pickle.loads(pickle.dumps(sim))
        sim.qpos[:] = [0, 0, 0.01 + 2 / 5**0.5, np.cos(np.arctan(0.5) / 2), 0, -np.sin(np.arctan(0.5) / 2), 0]
        sim.qvel[:] = [3, 0, 1e-4, 0, 0, 0]
        info = sim.step()
        assert info.nambiguous == several and info.ambiguous_bodies == ((0, 1) if several else (-1, -1))
        assert sim.vjp(gv=np.eye(6)[0]).label == "exact"   # of the answer that was taken
