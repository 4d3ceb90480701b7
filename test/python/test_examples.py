"""The examples in the wheel find what they say."""
import subprocess
import sys

import numpy as np
import pytest

examples = pytest.importorskip("tangere.examples")
pytest.importorskip("scipy")


def test_list_names_them_all():
    run = subprocess.run([sys.executable, "-m", "tangere.examples"], capture_output=True, text=True, check=True)
    assert all(name in run.stdout for name in examples.names()) and len(examples.names()) == 11
    wrong = subprocess.run([sys.executable, "-m", "tangere.examples", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "no example 'nothing'" in wrong.stderr


@pytest.fixture
def run(tmp_path, capsys):
    """Runs an example; what it leaves must be there, and it says where and how long it took."""
    def go(name, *left):
        figures = examples.run(name, tmp_path)
        said = capsys.readouterr().out
        assert f"\n{name}: " in said and said.rstrip().endswith(" s")
        for file in left:
            if "no replay: " in said and file.endswith(".html"):
                pytest.skip("the package is made without the replay's page")
            assert (tmp_path / file).stat().st_size > 1000 and str(tmp_path / file) in said
        return figures
    return go


def test_cheetah(run):
    assert run("cheetah", "cheetah.html")["loss"] < 1e-4


def test_identify(run):
    found = run("identify", "identify.html")
    assert found["mass"] == pytest.approx(1.7, rel=1e-4) and found["friction"] == pytest.approx(0.31, rel=1e-4)


def test_error_bars(run, monkeypatch):
    monkeypatch.setattr("tangere.examples.error_bars.DRAWS", 20)
    found = run("error_bars", "error_bars.html")
    assert 0.5 < found["mass"] < 1.6 and 0.5 < found["friction"] < 1.6   # test_identify judges more closely


def test_shac(run, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("tangere.examples.shac.STEPS", 256)   # two windows: test_shac.py judges what is learned
    assert np.isfinite(list(run("shac", "shac.html").values())).all()


def test_codesign(run):
    found = run("codesign", "codesign.html")
    assert found["loss"] < 1e-3 < found["fixed"] and found["length"] > 0.54   # 1.044 m from the shoulder, of which the upper arm is 0.5


def test_shot(run):
    assert run("shot", "shot.html")["miss"] < 5e-3


def test_landscape(run):
    pytest.importorskip("matplotlib")
    slopes = run("landscape", "landscape.svg")
    assert slopes["barrier"] == 41 and slopes["lcp"] < 41


def test_table(run):
    found = run("table", *(f"table/{word}.html" for word in ("lcp", "softmin")))
    assert {"lcp", "softmin"} <= set(found)


def test_policy(run):
    pytest.importorskip("torch")
    walked = run("policy", "policy.html")
    assert walked["after"] > walked["before"] + 0.05


def test_from_the_command_line(tmp_path):
    run = subprocess.run([sys.executable, "-m", "tangere.examples", "shot", "--out", tmp_path / "here"], capture_output=True, text=True, check=True)
    assert "shot: " in run.stdout and (str(tmp_path / "here") in run.stdout or "no replay" in run.stdout)


def test_closed_loop(run, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setattr("tangere.examples.closed_loop.WORLDS", 1)
    left = run("closed_loop", "closed_loop.html")
    assert left["closed"] < 0.02 < 0.1 < left["once"]
