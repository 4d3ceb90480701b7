"""The baseline of the suite of tasks by finite differences in MuJoCo (tools/suite_mujoco.py), which takes the package."""
import json
import pathlib
import sys

import mujoco
import numpy as np
import pytest

import tangere as tg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import suite_apart  # noqa: E402
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


def test_closed_loop_of_a_run(tmp_path, monkeypatch, capsys):
    """A motion that pushes too weakly leaves the ball short in open loop; the controller, which begins with it, does not. What is done is not done again."""
    text = PAIR_TASK.replace("{loss: 1.0e-4}", "{distance: 0.005}").replace("steps: 50", "steps: 100").replace("refine", "#").replace(
        "losses: [", "losses: [{term: body_position, name: ball, target: [0.05, 0, 0], weight: 1, at: end}, {term: body_position, name: ball, target: [0.05, 0, 0], weight: 0.1, at: all}, ")
    models, folder = tmp_path / "models", tmp_path / "pair/1"
    (models / "loop").mkdir(parents=True)
    (folder / "run").mkdir(parents=True)
    (models / "pair.xml").write_text(PAIR)
    (models / "loop/pair.yaml").write_text(text.replace("every: 25", "every: 10").replace("iterations: 10", "iterations: 12").replace("pair.xml", "../pair.xml"))
    (folder / "task.yaml").write_text(text.replace("pair.xml", str(models / "pair.xml")))
    np.savez(folder / "run/trajectory.npz", variables=np.array([0.6, 0.0, 0.0, 0.0]))
    monkeypatch.setattr(suite_loop.suite, "TASKS", models)
    words = ["--tasks", "pair", "--seeds", "1", "--out", str(tmp_path)]
    assert suite_loop.main(words) == 3 and "no motion" in capsys.readouterr().out
    (folder / "state.json").write_text(json.dumps({"seconds": 1.0, "code": 3}))
    (tmp_path / "loop.json").write_text(json.dumps([{"task": "pair", "seed": 1, "distance": 9.0, "open": 9.0, "verdict": "misses"}]))   # of an earlier form, without searches
    assert suite_loop.main(words) == 0
    row, = json.loads((tmp_path / "loop.json").read_text())
    assert row["distance"] < 0.005 < 0.01 < row["open"] and row["verdict"] == "holds" and row["plans"] == 10 and row["failed"] == 0
    capsys.readouterr()
    suite_apart.main(["--task", "pair", "--body", "ball", "--seeds", "1", "--out", str(tmp_path)])
    told = capsys.readouterr().out
    assert f"left mujoco {100 * row['open']:.2g} cm" in told and "mujoco   and elliptic         end 0 to 0 cm apart" in told   # nothing rubs
    (folder / "run/trajectory.npz").unlink()
    assert suite_loop.main(words) == 0 and "| `pair` | 1 |" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(1, 11))
def test_closed_loops_have_the_starts_and_targets_of_the_suite(tmp_path, seed):
    for file in sorted((suite_loop.suite.TASKS / "loop").glob("*.yaml")):
        tasks = []
        for text in (suite_loop.looped(file.stem, seed), suite_loop.suite.task_text(file.stem, seed, None, 0)):
            (tmp_path / "t.yaml").write_text(text)
            tasks.append(tg.Task(tmp_path / "t.yaml"))
        q0, q1 = (t.expand(t.x0)[0] for t in tasks)
        assert tasks[0].model_path == tasks[1].model_path and np.array_equal(q0, q1) and tasks[0].steps == tasks[1].steps
        q, v = np.tile(q0, (tasks[0].steps + 1, 1)), np.zeros((tasks[0].steps + 1, tasks[0].sim().qvel.size))
        assert tasks[0].judge(tasks[0].x0, q, v)["distance"] == tasks[1].judge(tasks[1].x0, q, v)["distance"]   # of a motion that stays
