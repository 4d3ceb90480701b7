"""The examples in the wheel find what they say."""
import subprocess
import sys

import pytest

examples = pytest.importorskip("tangere.examples")
pytest.importorskip("scipy")


def test_list_names_them_all():
    run = subprocess.run([sys.executable, "-m", "tangere.examples"], capture_output=True, text=True, check=True)
    assert all(name in run.stdout for name in examples.names()) and len(examples.names()) == 8
    wrong = subprocess.run([sys.executable, "-m", "tangere.examples", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "no example 'nothing'" in wrong.stderr


def test_cheetah():
    assert examples.run("cheetah")["loss"] < 1e-4


def test_identify():
    found = examples.run("identify")
    assert found["mass"] == pytest.approx(1.7, rel=1e-4) and found["friction"] == pytest.approx(0.31, rel=1e-4)


def test_codesign():
    found = examples.run("codesign")
    assert found["loss"] < 1e-3 < found["fixed"] and found["length"] > 0.54   # 1.044 m from the shoulder, of which the upper arm is 0.5


def test_shot():
    assert examples.run("shot")["miss"] < 5e-3


def test_landscape():
    slopes = examples.run("landscape")
    assert slopes["barrier"] == 41 and slopes["lcp"] < 41


def test_policy():
    pytest.importorskip("torch")
    walked = examples.run("policy")
    assert walked["after"] > walked["before"] + 0.05
