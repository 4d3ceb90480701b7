"""docs/robots.md says what becomes of robots today: some of them again, as the table has them."""
import importlib.util
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("robots", ROOT / "tools/robots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(row):
    """A row without the numbers of its messages."""
    return [re.sub(r"\s*\[\d+\]", "", cell).strip() for cell in row.split("|")]


@pytest.mark.parametrize("package, name", [("example-robot-data", "double_pendulum_description/urdf/double_pendulum.urdf"), ("pybullet", "cartpole.urdf"),
                                           ("example-robot-data", "human_description/robots/human.urdf"), ("example-robot-data", "bolt_description/robots/bolt.urdf"),
                                           ("example-robot-data", "quadruped_description/urdf/quadruped.urdf")])
def test_row_of_the_table(tool, package, name):
    if not tool.FOLDER[package].is_dir():
        pytest.skip(f"{package} is not installed")
    tool.CONTACTS = ("lcp",)
    label = tool.row(name, (pathlib.Path(name), {}, "", {"refused": ""}, {}), []).split("|")[1].strip()
    kept = next(line for line in (ROOT / "docs/robots.md").read_text().splitlines() if line.startswith(f"| {label} |"))
    now = words(tool.row(name, tool.try_robot(package, name), []))
    assert now[:6] == words(kept)[:6]


def test_twenty_robots_are_checked():
    text = (ROOT / "docs/robots.md").read_text()
    tried, loaded, right = map(int, re.search(r"(\d+) robots: (\d+) load, and of (\d+) every", text).groups())
    assert tried >= 30 and loaded >= 20 and right >= 20
