"""Runs the blocks of docs/python.md, one after the other as a reader would."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_blocks_run(monkeypatch, capsys):
    for module in ("torch", "jax", "scipy", "gymnasium"):
        pytest.importorskip(module)
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.S)
    assert len(blocks) >= 5
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)   # noqa: S102
    assert "gradient check passed" in capsys.readouterr().out
