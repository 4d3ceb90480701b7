"""Examples, run by name: python -m tangere.examples NAME; without a name, a list."""

from __future__ import annotations

import ast
import importlib
import pathlib
import pkgutil
from typing import Any

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"


def names() -> list[str]:
    """Names of the examples, in the alphabet's order."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def about(name: str) -> str:
    """First line of an example's description, read without importing what it needs."""
    source = (pathlib.Path(__file__).parent / f"{name}.py").read_text()
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def run(name: str) -> dict[str, Any]:
    """Runs an example, which prints what it finds; returns its figures by name."""
    figures: dict[str, Any] = importlib.import_module(f"{__name__}.{name}").main()
    return figures
