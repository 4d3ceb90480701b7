"""Pages of motions, made from Python by the program in the package."""
import json
import re

import pytest

import tangere as tg
from tangere import _program, replay

BALL = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="ball" pos="0 0 0.5"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""

needs_page = pytest.mark.skipif("TANGERE_VIEWER" not in _program.environ(), reason="the package was made without Node: no page")


def data(path):
    page = path.read_text()
    return json.loads(re.search(r'<script type="application/json" id="tangere-replay">(.*?)</script>', page, re.S).group(1))


@needs_page
def test_of_a_rollout(tmp_path):
    roll = tg.Sim(tg.loads(BALL), dt=0.01).rollout(steps=60)
    replay.write(tmp_path / "fall.html", roll)
    shown = data(tmp_path / "fall.html")["trajectories"]
    assert len(shown) == 1 and roll.dt == 0.01 and roll.u.shape == (60, 0)
    assert "ball" in (tmp_path / "fall.html").read_text()


@needs_page
def test_of_a_model_with_options(tmp_path):
    (tmp_path / "ball.urdf").write_text("""<robot name="b"><link name="ball"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>""")
    replay.write(str(tmp_path / "fall.html"), tg.Sim(tg.load(tmp_path / "ball.urdf", ground="below")).rollout(steps=5))
    assert '"ground"' in (tmp_path / "fall.html").read_text()


@needs_page
def test_of_an_optimum(models, tmp_path):
    task = tg.Task(models / "half_cheetah_reach.yaml", iterations=3)
    found = task.optimize()
    replay.write(tmp_path / "reach.html", task, found)
    shown = data(tmp_path / "reach.html")
    assert [t["label"] for t in shown["trajectories"]] == ["first", "best"]
    with pytest.raises(TypeError, match="found"):
        replay.write(tmp_path / "x.html", task)


ROCK = """<mujoco><asset><mesh name="rock" vertex="0 0 -.1 .3 0 -.1 0 .2 -.1 0 0 .1"/></asset><worldbody><geom type="plane" size="1 1 1"/>
<body name="rock" pos="0 0 0.3"><joint name="fall" type="slide" axis="0 0 1"/><geom name="rock" type="mesh" mesh="rock"/></body></worldbody></mujoco>"""
SCALE = """model: rock.xml
contact: lcp
horizon: {steps: 150}
parameters: [{name: geom_scale, of: rock, entry: 2, low: 0.5, high: 3, start: 2}]
losses: [{term: joint_position, name: fall, target: [0.05], weight: 1}]
optimizer: {method: lbfgs, iterations: 4}
"""


@needs_page
def test_of_an_optimum_with_parameters(tmp_path):
    (tmp_path / "rock.xml").write_text(ROCK)
    (tmp_path / "rock.yaml").write_text(SCALE)
    task = tg.Task(tmp_path / "rock.yaml")
    found = task.optimize()
    assert found.first[0] == 2 and found.x[0] != 2
    sim = task.sim(found.x)
    assert sim.param("geom_scale")[1, 2] == found.x[0] and task.sim().param("geom_scale")[1, 2] == 2
    # the rollout has them too, and is the task's own
    assert (sim.rollout(steps=150).q == task.trajectory(found.x)[2]).all()
    replay.write(tmp_path / "rock.html", task, found)
    assert data(tmp_path / "rock.html")["models"][0]["geoms"][1]["scale"] == [1, 1, found.x[0]]


def test_the_page_comes_first(tmp_path):
    with pytest.raises(TypeError, match="motion: a Rollout, a Task or a Model is needed, not PosixPath"):
        replay.write(tg.Sim(tg.loads(BALL)).rollout(steps=2), tmp_path / "x.html")


def test_what_cannot_be_written_is_an_error(tmp_path):
    roll = tg.Sim(tg.loads(BALL)).rollout(steps=2)
    with pytest.raises(tg.Error, match="nowhere|viewer"):
        replay.write(tmp_path / "nowhere" / "fall.html", roll)




def test_program_is_in_the_package():
    assert _program.call("--version").startswith("tangere ")
    with pytest.raises(tg.Error, match="fly"):
        _program.call("fly")
