"""tangere.Replay: a rollout or a run's folder in a notebook and as a page."""
import base64
import html
import json
import os
import pathlib
import re
import zlib

import numpy as np
import pytest

import tangere as tg

VIEWER = pathlib.Path(os.environ.get("TANGERE_VIEWER") or pathlib.Path(__file__).resolve().parents[2] / "build/share/tangere/viewer.html")
needs_viewer = pytest.mark.skipif(not VIEWER.is_file(), reason=f"{VIEWER} is not built: make viewer")
PLACES = '<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>'

BALL = """<mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="ball" pos="0.2 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>"""


@pytest.fixture
def rollout():
    return tg.Sim(tg.loads(BALL), contact="lcp", dt=0.01).rollout(steps=30)


def words(page, block):
    packed = re.search(rf'id="tangere-{block}">([^<]*)<', page)[1]
    plane = np.frombuffer(zlib.decompress(base64.b64decode(packed)), np.uint8).reshape(4, -1).astype(np.uint32)
    return plane[0] | plane[1] << 8 | plane[2] << 16 | plane[3] << 24


def test_page_of_a_rollout(rollout, tmp_path, monkeypatch):
    (tmp_path / "viewer.html").write_text(PLACES)
    monkeypatch.setenv("TANGERE_VIEWER", str(tmp_path / "viewer.html"))
    before = rollout.q.copy()
    page = tg.Replay(rollout, title="rest <1>").html
    head = json.loads(re.search(r'id="tangere-replay">([^<]*)</script>', page)[1])
    run = head["trajectories"][0]
    assert head["title"] == "rest <1>" and run["nframe"] == 31 and run["dt"] == 0.01 and run["ncontact"] == 30
    # a ball at rest: every step but the last state has one contact, whose force is its weight. Words: 7 of 2 bodies a frame, contacts of each frame, 6 each
    w = words(page, "0-0")
    at = 31 * 2 * 7
    assert w[at:at + 31].tolist() == [1] * 30 + [0]
    force = w[at + 31:at + 31 + 180].view(np.float32).reshape(6, 30)[3:]
    np.testing.assert_allclose(force[2], 2 * 9.81, rtol=1e-6)
    np.testing.assert_allclose(force[:2], 0, atol=1e-6)
    assert [s["name"] for s in run["signals"]] == ["positions q", "velocities v", "energy"]
    # the rollout is as it was, and still has its gradient
    assert np.array_equal(rollout.q, before)
    rollout.backward(dq=np.ones(6))


@needs_viewer
def test_notebook(rollout, tmp_path, monkeypatch):
    monkeypatch.setenv("TANGERE_VIEWER", str(VIEWER))
    replay = tg.Replay(rollout, height=300)
    shown = replay._repr_html_()
    inside = html.unescape(re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts allow-downloads" style="[^"]*height: 300px[^"]*" title="[^"]*"></iframe>', shown)[1])
    assert inside == replay.html
    replay.save(tmp_path / "r.html")
    assert tg.Replay(tmp_path / "r.html").html == replay.html
    (tmp_path / "replay.html").write_text(replay.html, encoding="utf-8")
    assert tg.Replay(tmp_path).html == replay.html
    assert "save(path)" in repr(replay)


@needs_viewer
def test_optimum_and_part_of_a_rollout(models, monkeypatch):
    monkeypatch.setenv("TANGERE_VIEWER", str(VIEWER))
    task = tg.Task(models / "half_cheetah_reach.yaml", iterations=2)
    shown = tg.Replay(task, task.optimize()).html
    assert [t["label"] for t in json.loads(re.search(r'id="tangere-replay">([^<]*)</script>', shown)[1])["trajectories"]] == ["first", "best"]
    with pytest.raises(TypeError, match="found"):
        tg.Replay(task)
    sim = tg.Sim(tg.load(models / "half_cheetah.xml"), dt=0.01)
    controls = np.zeros((10, 6))
    controls[4] = np.nan
    with pytest.raises(tg.Error, match="finite"):
        sim.rollout(controls)
    assert json.loads(re.search(r'id="tangere-replay">([^<]*)</script>', tg.Replay(sim.interrupted).html)[1])["trajectories"][0]["nframe"] == 5


def test_what_cannot_be_shown_is_named(rollout, tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="a Rollout, a Task or a path is needed, not int"):
        tg.Replay(3)
    with pytest.raises(FileNotFoundError, match="replay.html"):
        tg.Replay(tmp_path)
    (tmp_path / "x.html").write_text("<p>")
    with pytest.raises(ValueError, match="no replay"):
        tg.Replay(tmp_path / "x.html")
    monkeypatch.setenv("TANGERE_VIEWER", str(tmp_path / "x.html"))
    with pytest.raises(tg.Error, match="no replay viewer"):
        tg.Replay(rollout)
    with pytest.raises(AttributeError, match="no attribute 'Replays'"):
        tg.Replays
