"""`tangere simulate` and `convert`: results, starts, options of files."""
import json
import resource
import subprocess

import numpy
import pytest

from command_line import ARM, EXE, MODEL, ROOT, run


def test_what_changes_motion_is_dropped_by_name(tmp_path):
    file = tmp_path / "m.xml"
    file.write_text('<mujoco><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody><actuator><muscle joint="j"/></actuator></mujoco>')
    assert "--drop=actuator goes on" in run("simulate", file, "--lenient", code=2).stderr
    assert "did you mean actuator?" in run("simulate", file, "--drop", "hfield,actuater", code=1).stderr
    assert "left out, it changes motion: muscle" in run("simulate", file, "--drop", "hfield", "--drop=actuator", "--steps", 2, "--json").stderr


TROUGH = """<mujoco><asset><mesh name="t" file="t.obj" inertia="exact"/></asset><worldbody><geom name="t" type="mesh" mesh="t"/>
<body pos="0 0 0.2"><freejoint/><geom type="sphere" size="0.03"/></body></worldbody></mujoco>"""
OUTLINE = [(-0.1, 0), (0.1, 0), (0.1, 0.1), (0.06, 0.1), (0.06, 0.03), (-0.06, 0.03), (-0.06, 0.1), (-0.1, 0.1)]
CAP = [(1, 2, 5), (1, 5, 6), (2, 3, 4), (2, 4, 5), (1, 6, 7), (1, 7, 8)]


def test_concave_meshes_in_pieces(tmp_path):
    faces = [f for a, b, c in CAP for f in ((a, b, c), (c + 8, b + 8, a + 8))]
    faces += [f for i in range(8) for j in [(i + 1) % 8] for f in ((i + 1, i + 9, j + 1), (j + 1, i + 9, j + 9))]
    (tmp_path / "t.obj").write_text("".join(f"v {x} {y} {z}\n" for y in (-0.1, 0.1) for x, z in OUTLINE) + "".join("f %d %d %d\n" % f for f in faces))
    (tmp_path / "m.xml").write_text(TROUGH)
    whole = run("simulate", tmp_path / "m.xml", "--steps", 500, "--json")
    assert "--decompose" in whole.stderr and abs(json.loads(whole.stdout)["qpos"][2] - 0.13) < 1e-3
    cut = subprocess.run([EXE, "simulate", tmp_path / "m.xml", "--steps", "500", "--json", "--decompose"], capture_output=True, text=True, timeout=300)
    if cut.returncode == 2 and "install coacd" in cut.stderr:
        assert "t.obj" in cut.stderr and "are cut into pieces" not in cut.stderr
        return
    assert cut.returncode == 0 and "are cut into pieces" in cut.stderr, cut.stderr
    assert abs(json.loads(cut.stdout)["qpos"][2] - 0.06) < 4e-3
    assert len(list(tmp_path.glob("t.obj.*.pieces"))) == 1
    assert "from 0.01 to 1" in run("simulate", tmp_path / "m.xml", "--decompose-threshold", 5, code=2).stderr


BALL = """<robot name="ball"><link name="ball"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""
LAND = """model: ball.urdf
ground: -0.5
contact: lcp
horizon: {steps: 1000, timestep: 0.002}
initial: [{joint: root, part: velocity, low: -1, high: 1}]
losses: [{term: body_position, name: ball, target: [0.2, 0, -0.4], weight: 1}]
optimizer: {method: adam, iterations: 2, rate: 0.001}
"""


def test_ground_under_a_urdf(tmp_path):
    (tmp_path / "ball.urdf").write_text(BALL)
    (tmp_path / "land.yaml").write_text(LAND)
    rest = lambda *args: json.loads(run("simulate", tmp_path / "ball.urdf", "--steps", 1000, "--json", *args).stdout)["qpos"][2]
    assert rest() < -10
    assert abs(rest("--ground=-0.3") + 0.2) < 1e-6
    assert abs(rest("--ground=-0.1") - 0) < 1e-6
    run("simulate", tmp_path / "ball.urdf", "--ground=high", code=1)
    run("optimize", tmp_path / "land.yaml", "--out", tmp_path / "o", "--no-replay")
    assert abs(numpy.load(tmp_path / "o" / "trajectory.npz")["qpos_best"][-1][2] + 0.4) < 1e-3
    # the geom's name is taken
    (tmp_path / "m.xml").write_text('<mujoco><worldbody><geom name="ground" type="plane" size="1 1 1"/></worldbody></mujoco>')
    assert "ground" in run("simulate", tmp_path / "m.xml", "--ground", code=2).stderr
    # a joint that the file's pose has outside its range
    bent = BALL.replace("</robot>", BALL[BALL.index("<link"):BALL.index("</robot>")].replace('"ball"', '"leg"')) + """<joint name="knee" type="revolute"><parent link="ball"/>
    <child link="leg"/><origin xyz="0 0 -0.3"/><axis xyz="0 1 0"/><limit lower="-2" upper="-1" effort="1" velocity="1"/></joint></robot>"""
    (tmp_path / "bent.urdf").write_text(bent)
    assert "'knee' at 0, outside its range -2 to -1: --inside-limits" in run("gradcheck", tmp_path / "bent.urdf", "--contact", "barrier", code=2).stderr
    run("simulate", tmp_path / "bent.urdf", "--contact", "barrier", "--inside-limits")
    assert json.loads(run("simulate", tmp_path / "bent.urdf", "--inside-limits", "--steps", 1, "--json").stdout)["qpos"][7] == pytest.approx(-1.05, abs=1e-3)
    # bodies that overlap at the start
    (tmp_path / "in.xml").write_text('<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body pos="0 0 .09"><freejoint/>'
                                     '<geom name="box" type="box" size=".1 .1 .1" mass="1"/></body></worldbody></mujoco>')
    assert "let --separate" in run("simulate", tmp_path / "in.xml", "--contact", "toi", code=2).stderr
    for contact, way in ("lcp", 0.01), ("toi", 0.010001):
        done = run("simulate", tmp_path / "in.xml", "--contact", contact, "--steps", 1, "--separate", "--json")
        pair, = json.loads(done.stdout)["separated"]
        assert pair["geom1"] == "floor" and pair["geom2"] == "box" and pair["before"] == pytest.approx(-0.01) and pair["moved2"] == pytest.approx(way, abs=1e-8)
        assert "geom 0 'floor' and geom 1 'box' overlapped by 0.01 m; they moved 0 and 0.01 m" in done.stderr
    run("gradcheck", tmp_path / "in.xml", "--contact", "toi", "--separate=1e-4")
    run("simulate", tmp_path / "in.xml", "--separate=deep", code=1)
    # a plane put just under the robot, and what says so
    assert abs(rest("--ground=below") - (0.1 - 0.101)) < 1e-6
    assert "--ground=below adds a plane under it" in run("simulate", tmp_path / "ball.urdf").stderr
    assert "falls" not in run("simulate", tmp_path / "ball.urdf", "--ground=below").stderr
    assert "a task says ground" in run("optimize", tmp_path / "land.yaml", "--ground=below", code=2).stderr
    (tmp_path / "bare.urdf").write_text(BALL.replace("collision", "visual"))
    assert "no ground is put below the model" in run("simulate", tmp_path / "bare.urdf", "--ground=below", "--steps", 1).stderr
    # meshes of many triangles collide as fewer
    plate = "".join(f"v {x} {y} {0.01 * (x * y % 3)}\n" for x in range(12) for y in range(12)) + "".join(
        f"f {a} {a + 12} {a + 1}\nf {a + 12} {a + 13} {a + 1}\n" for x in range(11) for a in range(12 * x + 1, 12 * x + 12))
    (tmp_path / "plate.obj").write_text(plate)
    (tmp_path / "plate.urdf").write_text(BALL.replace('<sphere radius="0.1"/>', '<mesh filename="plate.obj"/>'))
    call = [EXE, "simulate", str(tmp_path / "plate.urdf"), "--contact-triangles", "60", "--steps", "1", "--contact", "barrier"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=300)
    if "libmeshoptimizer" not in done.stderr:   # a part that may be left out of the build
        assert done.returncode == 0 and "mesh plate.obj of 242 triangles collides as 60: at most 0.0" in done.stderr
        assert "needs 4 at least" in run("simulate", tmp_path / "plate.urdf", "--contact-triangles", 3, code=2).stderr
    assert "contact_triangles: N itself" in run("gradcheck", tmp_path / "land.yaml", "--contact-triangles", 60, code=2).stderr
    assert "take out its freejoint" in run("simulate", tmp_path / "m.xml", "--fixed-base", code=2).stderr


def test_simulate_leaves_a_run(tmp_path):
    done = run("simulate", MODEL, "--steps", 50, "--dt", 0.001, "--out", tmp_path / "a", "--json")
    result = json.loads(done.stdout)
    assert result["steps"] == 50 and result["timestep"] == 0.001 and result["status"] == "ok"
    data = numpy.load(tmp_path / "a" / "trajectory.npz")
    assert data["qpos"].shape == (51, 9) and data["ctrl"].shape == (50, 6)
    assert numpy.array_equal(data["qpos"][-1], result["qpos"])
    # 0.05 s of free fall from rest, symplectic Euler: z = -g h^2 n (n + 1)/2, before anything touches; legs are held by springs at rest
    assert abs(data["qpos"][10, 1] + 9.81 * 1e-6 * 10 * 11 / 2) < 1e-9
    assert (tmp_path / "a" / "replay.html").stat().st_size > 100_000
    assert json.loads((tmp_path / "a" / "run.json").read_text())["model"]["path"] == MODEL
    run("replay", tmp_path / "a", "--out", tmp_path / "b.html")
    assert (tmp_path / "b.html").read_bytes() == (tmp_path / "a" / "replay.html").read_bytes()


def test_a_motion_that_ends_early_says_why(tmp_path):
    (tmp_path / "torn.xml").write_text("<mujoco><option gravity='0 0 0'/><worldbody><body name='cart'><joint name='rail' type='slide'/><geom size='.1'/></body>"
                                       "</worldbody><equality><joint joint1='rail' polycoef='0 0 0 0 0'/><joint joint1='rail' polycoef='.1 0 0 0 0'/></equality></mujoco>")
    args = ["simulate", tmp_path / "torn.xml", "--steps", 3, "--json"]
    told = json.loads(run(*args, "--option", "unsolved=stop", code=3).stdout)
    assert "equality 0" in told["error"] and told["steps"] == 0 and told["status"] != "ok"
    told = json.loads(run(*args).stdout)
    assert told["error"] == "" and told["steps"] == 3 and told["status"] == "ok" and 0 <= told["seconds"] < 300


def test_a_start_deep_in_the_floor_is_told(tmp_path):
    ball = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="ball" pos="0 0 %g"><freejoint/><geom size=".1"/></body></worldbody>
              <keyframe><key name="deep" qpos="0 0 -.3 1 0 0 0"/></keyframe></mujoco>"""
    (tmp_path / "ball.xml").write_text(ball % .5)
    done = run("simulate", tmp_path / "ball.xml", "--steps", 300, "--key", "deep", "--json")
    assert "in step 0 geom 'floor' of 'the world' and geom 1 of 'ball' overlap by 0.4 m" in done.stderr and "push_speed" in done.stderr
    z, v = json.loads(done.stdout)["qpos"][2], json.loads(done.stdout)["qvel"]
    assert abs(z - .1) < 1e-8 and max(map(abs, v)) < 1e-8   # pushed out, and at rest
    assert "overlap" not in run("simulate", tmp_path / "ball.xml", "--steps", 300).stderr   # falls and lands


@pytest.mark.parametrize("loose, held, off", [
    ('<freejoint/>', '<equality><connect body1="other" anchor="0 0 0"/></equality>', "2.5 0 1 1 0 0 0"),
    ('<joint type="slide" axis="1 0 0" limited="true" range="0 .5"/>', "", "-.3")])
def test_what_a_push_leaves_of_equalities_and_limits_is_no_overlap(tmp_path, loose, held, off):
    """half a metre from its anchor, .3 m past its limit, beside a ball that lies 1e-7 m deep on the floor"""
    (tmp_path / "off.xml").write_text(f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body pos="0 0 .0999999"><freejoint/><geom size=".1"/></body><body name="other" pos="2 0 1">{loose}<geom size=".05"/></body></worldbody>
      {held}<keyframe><key name="off" qpos="0 0 .0999999 1 0 0 0 {off}"/></keyframe></mujoco>""")
    done = run("simulate", tmp_path / "off.xml", "--steps", 3, "--key", "off")
    assert done.returncode == 0 and "overlap" not in done.stderr


def test_fixed_arm_whose_links_overlap(tmp_path):
    """base and lower overlap on the axis that both joints turn about: no motion parts them; base and upper are neighbours"""
    (tmp_path / "arm.urdf").write_text(ARM)
    done = run("simulate", tmp_path / "arm.urdf", "--fixed-base", "--out", tmp_path / "a")
    assert "in 500 steps overlaps that no motion can push out were left as they are" in done.stderr and "--exclude-overlapping" in done.stderr
    done = run("simulate", tmp_path / "arm.urdf", "--fixed-base", "--exclude-overlapping", "--out", tmp_path / "a", "--overwrite")
    assert done.stderr.count("overlap by") == 1 and "'base' and 'lower' overlap by 0.1 m" in done.stderr
    assert "--exclude-overlapping" not in done.stderr and "left as they are" not in done.stderr
    run("gradcheck", tmp_path / "arm.urdf", "--fixed-base", "--exclude-overlapping")


def test_convert(tmp_path):
    run("convert", MODEL, "--out", tmp_path / "m.json")
    m = json.loads((tmp_path / "m.json").read_text())
    assert m["nv"] == 9 and m["fields"]["body_mass"]["unit"] == "kg"
    run("convert", MODEL, "--out", tmp_path / "m.npz")
    assert numpy.load(tmp_path / "m.npz")["body_mass"].shape == (9, 1)
    run("convert", MODEL, "--out", tmp_path / "m.txt", code=1)
    run("convert", "nowhere.xml", "--out", tmp_path / "m.txt", code=1)
    for name in "m.json", "m.npz":                                            # as `simulate` makes its folder, and refuses what can be none
        run("convert", MODEL, "--out", tmp_path / "new" / "folder" / name)
        assert (tmp_path / "new" / "folder" / name).read_bytes() == (tmp_path / name).read_bytes()
        assert "m.json cannot be made" in run("convert", MODEL, "--out", tmp_path / "m.json" / "a" / name, code=2).stderr
        (tmp_path / "taken" / name).mkdir(parents=True)
        assert "is not a regular file" in run("convert", MODEL, "--out", tmp_path / "taken" / name, code=2).stderr


def test_sensors(tmp_path):
    """Columns by name, the values those of the motion; a model without sensors is refused."""
    (tmp_path / "m.xml").write_text("""<mujoco><worldbody><body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><site name="s" pos=".3 0 0"/>
</body></worldbody><sensor><jointpos name="angle" joint="j"/><accelerometer name="imu" site="s"/><jointvel joint="j"/><touch site="s"/></sensor></mujoco>""")
    out = json.loads(run("simulate", tmp_path / "m.xml", "--steps", 5, "--dt", "0.01", "--sensors", "--no-replay", "--json", "--out", tmp_path / "o").stdout)
    with numpy.load(tmp_path / "o/trajectory.npz") as npz:
        sensor, q, v = npz["sensor"], npz["qpos"], npz["qvel"]
    rows = (tmp_path / "o/sensors.csv").read_text().splitlines()
    assert rows[0].split(",") == ["time", "angle", "imu[0]", "imu[1]", "imu[2]", "sensor2", "sensor3"] and len(rows) == 6
    table = numpy.array([[float(x) for x in row.split(",")] for row in rows[1:]])
    numpy.testing.assert_array_equal(table[:, 1:], sensor)
    numpy.testing.assert_allclose(table[:, 0], 0.01 * numpy.arange(1, 6))
    numpy.testing.assert_array_equal(sensor[:, [0, 4]], numpy.c_[q[1:, 0], v[1:, 0]])
    assert out["sensor"] == sensor[-1].tolist() and abs(sensor[0, 2]) < 10     # a swinging accelerometer feels less than its weight
    last = run("simulate", tmp_path / "m.xml", "--steps", 5, "--dt", "0.01", "--sensors").stderr.splitlines()   # nothing is written: they are told
    for name, at in (("angle", [0]), ("imu", [1, 2, 3]), ("sensor2", [4]), ("sensor3", [5])):
        told = next(line for line in last if line.startswith(f"{name}:")).split()[1:]
        numpy.testing.assert_allclose([float(x) for x in told], sensor[-1, at], rtol=1e-5, atol=1e-300)
    run("simulate", "samples/ball.xml", "--steps", 2, "--sensors", code=2)


def test_more_steps_than_memory(tmp_path):
    def little():
        resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    done = subprocess.run([EXE, "simulate", MODEL, "--steps", "1000000000", "--json"], cwd=ROOT, capture_output=True, text=True, timeout=300,
                          preexec_fn=little)
    assert done.returncode == 4 and "out of memory for 1000000000 steps" in done.stderr


def test_keyframes(tmp_path):
    (tmp_path / "m.xml").write_text((ROOT / "samples" / "ball.xml").read_text().replace(
        "</mujoco>", "<keyframe><key name='high' qpos='0 0 5 1 0 0 0' qvel='1 0 0 0 0 0'/></keyframe></mujoco>"))
    q = json.loads(run("simulate", tmp_path / "m.xml", "--key", "high", "--steps", 1, "--dt", 0.01, "--json").stdout)["qpos"]
    # one step of symplectic Euler: x = h v, z = 5 - g h^2
    assert abs(q[0] - 0.01) < 1e-12 and abs(q[2] - 5 + 9.81e-4) < 1e-12
    assert "low" in run("simulate", tmp_path / "m.xml", "--key", "low", code=2).stderr
    assert run("gradcheck", tmp_path / "m.xml", "--key", "high").stdout.startswith("ok")
    run("gradcheck", tmp_path / "m.xml", "--key", "low", code=2)


BOX = """<mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>
<body pos="0 0 0.1"><freejoint/><geom name="box" type="box" size="0.1 0.12 0.1"/></body></worldbody>
<keyframe><key name="sunk" qpos="0 0 0.05 1 0 0 0"/><key name="up" qpos="0 0 0.102 1 0 0 0"/></keyframe></mujoco>"""


LEANING = """<mujoco><option gravity="0 0 0" timestep="0.001"/><worldbody><geom type="plane" size="9 9 1" friction="%g"/>
<body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".333 .333 .333"/><geom pos="0 0 -1" size=".01" friction="0"/></body></worldbody>
<keyframe><key name="slides" qpos="0 0 0.904427191 0.9732489894677302 0 -0.2297529205473612 0" qvel="3 0 1e-5 0 0 0"/></keyframe></mujoco>"""


def test_several_answers_are_told(tmp_path):
    """A rod that leans at tan = 2 and slides: above friction 4/3 it may stick and be thrown up as well (Painleve)."""
    for friction, several in ((2, True), (1, False)):
        (tmp_path / "rod.xml").write_text(LEANING % friction)
        done = run("simulate", tmp_path / "rod.xml", "--key", "slides", "--steps", 20, "--json")
        assert ("another answer" in done.stderr) == several and ("ambiguous_steps" in json.loads(done.stdout)) == several


def test_contact_potential(tmp_path):
    (tmp_path / "m.xml").write_text(BOX)
    barrier = [tmp_path / "m.xml", "--contact", "barrier"]
    for command in "simulate", "gradcheck":
        # what touches is refused by name; of the keyframes only one that can be started from is offered
        said = run(command, *barrier, code=2).stderr
        assert "'floor'" in said and "rounding" in said and "with --key NAME: up\n" in said
        # taken with a warning, or of another contact model
        said = run(command, *barrier, "--key", "up", "--steps", 2, "--option", "eps=0.3", "--option", "erp=0.1").stderr
        assert "warning: Contact option eps is 0.3" in said and "option erp does nothing under the contact model 'barrier'" in said
        assert "warning" not in run(command, *barrier, "--key", "up", "--steps", 2).stderr
    # the distance is told, and the force of the one pair: at rest the weight
    done = run("simulate", *barrier, "--key", "up", "--steps", 50, "--json", "--no-replay", "--out", tmp_path / "out")
    assert 0 < json.loads(done.stdout)["least_distance"] < 2e-3
    kept = numpy.load(tmp_path / "out" / "trajectory.npz")
    assert list(numpy.diff(kept["contact_offset"])) == [1] * 50 + [0]
    weight = 1000 * 0.2 * 0.24 * 0.2 * 9.81
    assert abs(kept["contact_force"][-1] - [0, 0, weight]).max() < 1e-2 * weight
    assert json.loads(run("simulate", MODEL, "--steps", 1, "--json").stdout)["least_distance"] is None


def test_simulate_overwrites_when_told(tmp_path):
    """as optimize does; what was there stays to the byte"""
    first = ["simulate", MODEL, "--steps", 2, "--no-replay", "--out", tmp_path / "a"]
    run(*first)
    for kept in ("run.json", "trajectory.npz"):   # the second alone: a run that was interrupted while it wrote
        was = (tmp_path / "a" / kept).read_bytes()
        refused = run(*first, code=2).stderr
        assert f"{kept} is of an earlier run" in refused and "--overwrite" in refused and (tmp_path / "a" / kept).read_bytes() == was
        (tmp_path / "a/run.json").unlink(missing_ok=True)
    run("simulate", MODEL, "--steps", 3, "--no-replay", "--out", tmp_path / "a", "--overwrite")
    assert json.loads((tmp_path / "a/run.json").read_text())["steps"] == 3
    (tmp_path / "b").mkdir()
    (tmp_path / "b/notes.txt").write_text("mine")
    run("simulate", MODEL, "--steps", 2, "--no-replay", "--out", tmp_path / "b")   # a folder with something else is no run
