"""The baseline of the suite of tasks by finite differences in MuJoCo (tools/suite_mujoco.py), which takes the package."""
import json
import pathlib
import sys

import mujoco
import numpy as np
import pytest

import tangere as tg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import suite_loop  # noqa: E402
import suite_mujoco  # noqa: E402

PAIR = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody>
<body name="hand" pos="-0.08 0 0"><joint name="hand" type="slide" axis="1 0 0" damping="1"/><geom name="hand" type="sphere" size="0.03" mass="1"/></body>
<body name="ball"><joint name="ball" type="slide" axis="1 0 0" damping="1"/><geom name="ball" type="sphere" size="0.03" mass="1"/></body>
</worldbody><actuator><motor joint="hand" ctrlrange="-1 1"/></actuator></mujoco>"""
PAIR_TASK = """model: pair.xml
contact: lcp
horizon: {steps: 50}
controls: {every: 25}
losses: [{term: joint_position, name: ball, target: [0.05], weight: 1, at: end}]
optimizer: {method: adam, iterations: 10, rate: 0.1}
success: {loss: 1.0e-4}
verify: {rows: [finer]}
"""


def test_baseline_by_differences_in_mujoco(tmp_path):
    """The ball is felt before it is met, so that the slope is not zero and the hand comes; what counts is the hard contact of the task."""
    (tmp_path / "pair.xml").write_text(PAIR)
    (tmp_path / "t.yaml").write_text(PAIR_TASK)
    task = tg.Task(tmp_path / "t.yaml")
    assert not task.fun(task.x0)[1].any()                    # nothing touches under lcp
    search = suite_mujoco.Search(task)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "pair.xml"))
    suite_mujoco.soften(model)
    assert model.geom("hand").margin[0] == suite_mujoco.MARGIN and model.geom("ball").margin[0] == 0
    at = search.loss(task.x0)
    slope = search.slope(task.x0, at)
    assert slope[0] < 0 and search.simulations == 3
    assert suite_mujoco.main([str(tmp_path / "t.yaml"), "--simulations", "120", "--rate", "0.1", "--out", str(tmp_path / "run")]) in (0, 3)
    run = json.loads((tmp_path / "run/run.json").read_text())
    assert run["simulations"] <= 120 and run["iterations"] == 40 and run["soft_loss"] < 0.2 * at
    assert run["reached"] == (run["met"] and run["verification"][0]["verdict"] == "holds")
    loss, _, q, _ = task.trajectory(run["variables"])
    assert run["loss"] == pytest.approx(loss, rel=1e-12) == pytest.approx((q[-1, 1] - 0.05)**2, rel=1e-9)


def test_closed_loop_of_a_run(tmp_path, capsys):
    """A motion that pushes too weakly leaves the ball short in open loop; the controller, which begins with it, does not. What is done is not done again."""
    folder = tmp_path / "pair/1"
    (folder / "run").mkdir(parents=True)
    (folder / "m.xml").write_text(PAIR)
    (folder / "task.yaml").write_text(PAIR_TASK.replace("pair.xml", "m.xml").replace("{loss: 1.0e-4}", "{distance: 0.005}").replace("steps: 50", "steps: 100").replace(
        "losses: [", "losses: [{term: body_position, name: ball, target: [0.05, 0, 0], weight: 1, at: end}, {term: body_position, name: ball, target: [0.05, 0, 0], weight: 0.1, at: all}, ").replace("refine", "#"))
    task = tg.Task(folder / "task.yaml")
    np.savez(folder / "run/trajectory.npz", variables=np.array([0.6, 0.0, 0.0, 0.0]))
    words = ["--tasks", "pair", "--seeds", "1", "--out", str(tmp_path), "--rate", "0.1"]
    assert suite_loop.main(words) == 3 and "no motion" in capsys.readouterr().out
    (folder / "state.json").write_text(json.dumps({"seconds": 1.0, "code": 3}))
    assert suite_loop.main(words) == 0
    row, = json.loads((tmp_path / "loop.json").read_text())
    assert row["distance"] < 0.005 < 0.01 < row["open"] and row["verdict"] == "holds" and row["plans"] == 10 and row["failed"] == 0
    assert tg.Task(folder / "loop.yaml").size == 10 and task.size == 4      # controls of 0.1 s
    capsys.readouterr()
    (folder / "run/trajectory.npz").unlink()
    assert suite_loop.main(words) == 0 and "| `pair` | 1 |" in capsys.readouterr().out
