"""States from elsewhere are judged as the task's own are, and a motion found is replayed in MuJoCo."""
import json
import sys

import numpy as np
import pytest

import tangere as tg
import tangere.mujoco
from tangere import _program, replay

SLED = """<mujoco><option timestep="0.02" gravity="0 0 0"/><worldbody><body name="sled"><joint name="x" type="slide" axis="1 0 0"/>
<geom name="g" type="box" size="0.1 0.1 0.1" mass="2"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>"""
TASK = """model: m.xml
contact: lcp
horizon: {steps: 30}
controls: {every: 3}
losses:
  - {term: body_position, name: sled, target: [0.3, 0, 0], axes: x, weight: 1}
  - {term: velocity, weight: 1.0e-3, at: all}
  - {term: control, weight: 1.0e-6}
optimizer: {method: lbfgs, iterations: 30}
success: {distance: 0.02}
"""


@pytest.fixture
def make(tmp_path):
    def task(text=TASK, model=SLED):
        (tmp_path / "m.xml").write_text(model)
        (tmp_path / "t.yaml").write_text(text)
        return tg.Task(tmp_path / "t.yaml")
    return task


def test_judged_as_its_own(make):
    task = make()
    assert task.success_distance == 0.02 and np.isnan(make(TASK.replace("success: {distance: 0.02}", "success: {loss: 1}")).success_distance)
    x = np.linspace(-1, 2, task.size)
    loss, _, q, v = task.trajectory(x)
    judged = task.judge(x, q, v)
    assert judged["loss"] == pytest.approx(loss, rel=1e-14) and judged["distance"] == pytest.approx(abs(q[-1, 0] - 0.3), rel=1e-14)
    assert judged["verdict"] == "misses"
    q[-1, 0] = 0.31   # by the file's 2 cm
    assert task.judge(x, q, v)["verdict"] == "holds"
    with pytest.raises(ValueError, match="q"):
        task.judge(x, q[1:], v)


def test_motion_of_a_replay(make, tmp_path):
    task = make()
    found = task.optimize()
    row = found.verification[0]
    q, v = task.verify_motion(found.x, "finer")
    assert abs(q[-1, 0] - 0.3) == pytest.approx(row["distance"], abs=1e-15) and v.shape == (31, 1)
    with pytest.raises(tg.Error, match="no replay 'coarser'"):
        task.verify_motion(found.x, "coarser")
    try:
        replay.write(tmp_path / "page.html", task, found)
    except tg.Error as missing:
        pytest.skip(str(missing))
    assert '"finer"' in (tmp_path / "page.html").read_text()


def test_row_of_mujoco(make):
    mujoco = pytest.importorskip("mujoco")
    task = make()
    x = np.linspace(0.5, 3, task.size)
    row = tg.mujoco.verify(task, x, dt=0.005)
    # v += h u/m, then q += h v, in steps of 5 ms: by hand
    q = v = 0.0
    for u in np.repeat(x, 3 * 4):
        v += 0.005 * u / 2
        q += 0.005 * v
    assert row["distance"] == pytest.approx(abs(q - 0.3), abs=1e-12) and row["name"] == "mujoco" and not row["required"]
    assert row["dt"] == 0.005 and mujoco.__version__ in row["what"] and row["verdict"] == "misses"


def test_steps_of_the_task_are_not_those_of_the_file(make):
    mujoco = pytest.importorskip("mujoco")
    task = make(TASK.replace("steps: 30", "steps: 60, timestep: 0.01"))
    x = np.linspace(0.5, 3, task.size)
    row = tg.mujoco.verify(task, x, dt=0.005)
    assert row["verdict"] == "misses" and row["dt"] == 0.005 and mujoco.__version__ in row["what"]
    again = tg.mujoco.verify(make(TASK.replace("steps: 30", "steps: 60"), SLED.replace('timestep="0.02"', 'timestep="0.01"')), x, dt=0.005)
    assert row["distance"] == again["distance"]


def test_a_motion_that_blows_up_does_not_hold(make):
    pytest.importorskip("mujoco")
    thrown = TASK.replace("[0.3, 0, 0]", "[0, 0, 0]").replace("contact: lcp\n", "contact: lcp\nstart: {joints: [{joint: x, velocity: [1.0e11]}]}\n")
    row = tg.mujoco.verify(make(thrown), np.zeros(10))   # MuJoCo puts it back to 0 of itself
    assert row["verdict"] in ("ends early", "misses")


def test_what_mujoco_cannot_stand_for(make, monkeypatch):
    pytest.importorskip("mujoco")
    x = np.zeros(10)
    decides = make(TASK + "parameters: [{name: body_mass, of: sled, start: 3}]\n")
    assert "decides body_mass" in tg.mujoco.verify(decides, decides.x0)["reason"]
    bounces = make(TASK + "restitution: [{geom: g, value: 0.5}]\n")
    assert "restitution" in tg.mujoco.verify(bounces, x)["reason"]
    ground = make(TASK + "ground: -2\n")
    row = tg.mujoco.verify(ground, x)
    assert row["verdict"] == "not expressed" and "adds geoms" in row["reason"]
    monkeypatch.setitem(sys.modules, "mujoco", None)
    assert "not installed" in tg.mujoco.verify(make(), x)["reason"]


def test_folder_of_a_run(make, tmp_path, capsys):
    pytest.importorskip("mujoco")
    make()
    out = tmp_path / "run"
    _program.call("optimize", tmp_path / "t.yaml", "--out", out, "--no-replay")
    assert tg.mujoco.main([str(out)]) == 0
    assert "holds" in capsys.readouterr().out
    row = tg.mujoco.verify_run(out)
    assert row["name"] == "mujoco" and row["verdict"] == "holds" and row["distance"] < 0.02
    assert tg.mujoco.main([str(tmp_path)]) == 2
    assert "run.json" in capsys.readouterr().err
    (tmp_path / "t.yaml").write_text(TASK.replace("0.3, 0", "0.4, 0"))
    assert tg.mujoco.main([str(out)]) == 2 and "has changed" in capsys.readouterr().err
    (out / "run.json").write_text(json.dumps({"command": "simulate"}))
    assert tg.mujoco.main([str(out)]) == 2
    assert "not of an optimisation" in capsys.readouterr().err


SLIDER = """<mujoco><option timestep="0.01" gravity="0 0 -9.81"/><worldbody><geom name="slope" type="plane" size="3 3 1" euler="0 15 0" friction="0.6"/>
<body name="box" pos="0.0258819 0 0.0965926"><joint name="x" type="slide" axis="0.9659258 0 -0.2588190"/><joint name="z" type="slide" axis="0.2588190 0 0.9659258"/>
<geom name="box" type="box" size="0.1 0.1 0.1" euler="0 15 0" mass="1" friction="0.6"/></body></worldbody><actuator><motor joint="x" ctrlrange="-1 1"/></actuator></mujoco>"""


def test_hard_contact_does_not_creep(make):
    """On a slope of 15 degrees a box of friction 0.6 stands still; by MuJoCo's soft friction it creeps down."""
    pytest.importorskip("mujoco")
    task = make(TASK.replace("steps: 30}", "steps: 200, timestep: 0.01}").replace("name: sled, target: [0.3, 0, 0], axes: x", "name: box, target: [0.0258819, 0, 0], axes: x"), SLIDER)
    soft, hard = (tg.mujoco.verify(task, np.zeros(task.size), hard=h) for h in (False, True))
    assert "hard, steps of 0.5 ms" in hard["what"] and "hard" not in soft["what"]
    assert soft["distance"] > 1e-3 > 10 * hard["distance"], (soft["distance"], hard["distance"])


def test_page_with_the_motion_of_mujoco(make, tmp_path):
    pytest.importorskip("mujoco")
    if "TANGERE_VIEWER" not in _program.environ():
        pytest.skip("the page that replays are made of is not built")
    make()
    out = tmp_path / "run"
    _program.call("optimize", tmp_path / "t.yaml", "--out", out)
    before = dict(np.load(out / "trajectory.npz"))
    for _ in range(2):                                            # a second time changes nothing
        assert tg.mujoco.main([str(out), "--page"]) == 0
    after, row = np.load(out / "trajectory.npz"), json.loads((out / "run.json").read_text())["verification"]
    assert set(after.files) - set(before) == {"qpos_mujoco", "qvel_mujoco", "ctrl_mujoco"} and all(np.array_equal(after[k], before[k]) for k in before)
    assert [r["name"] for r in row].count("mujoco") == 1
    assert abs(after["qpos_mujoco"][-1, 0] - 0.3) == pytest.approx(row[-1]["distance_m"], abs=1e-12) and after["qpos_mujoco"].shape == after["qpos_best"].shape
    assert '"mujoco"' in (out / "replay.html").read_text()
    with pytest.raises(tg.Error, match="no motion of MuJoCo to show: not expressed"):
        tg.mujoco.add_to_page(out, {"verdict": "not expressed", "reason": ""})
