"""What is thin and fast, in one run with MuJoCo (bench/wall.py): `toi` stops it at the gap and gives it its restitution; MuJoCo lets it
pass, and with speculative contacts stops it inside and without restitution."""
import pathlib
import sys

import pytest

pytest.importorskip("mujoco")
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import wall  # noqa: E402


@pytest.mark.parametrize("name", list(wall.SCENES))
def test_a_wall_of_a_millimetre(name):
    stopped, bounced = wall.ours(name, 0), wall.ours(name, wall.BOUNCE)
    assert not stopped["passed"] and abs(stopped["deepest_m"] + 1e-6) < 1e-9 and abs(stopped["speed"]) < 1e-12
    assert not bounced["passed"] and abs(bounced["speed"] + wall.BOUNCE) < 1e-12
    assert wall.theirs(name, False)["passed"]
    soft = wall.theirs(name, True)
    assert not soft["passed"] and soft["deepest_m"] > 5e-5 and abs(soft["speed"] + wall.BOUNCE) > 0.5
