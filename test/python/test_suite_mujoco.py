"""The baseline of the suite of tasks by finite differences in MuJoCo (tools/suite_mujoco.py), which takes the package."""
import json
import pathlib
import sys

import mujoco
import pytest

import tangere as tg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
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
