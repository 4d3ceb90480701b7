"""Examples, run by name: python -m tangere.examples NAME; without a name, a list. Each leaves something to look at in a
folder, out/examples when none is named."""

from __future__ import annotations

import ast
import importlib
import pathlib
import pkgutil
import time
from typing import Any

import tangere as tg
from tangere import replay

OUT = pathlib.Path("out/examples")
MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"


def names() -> list[str]:
    """Names of the examples, in the alphabet's order."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def about(name: str) -> str:
    """First line of an example's description, read without importing what it needs."""
    source = (pathlib.Path(__file__).parent / f"{name}.py").read_text()
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def leave(page: pathlib.Path, *motion: Any, **states: Any) -> None:
    """Writes the page of a motion, as replay.write takes it, and says where; says why not where the package was made without what pages
    are made of."""
    page.parent.mkdir(parents=True, exist_ok=True)
    try:
        replay.write(page, *motion, **states)
        print(f"replay: {page} (open it in a browser)")
    except tg.Error as missing:
        print(f"no replay: {missing}")


def run(name: str, out: pathlib.Path = OUT) -> dict[str, Any]:
    """Runs an example, which prints what it finds and leaves something to look at in the folder; returns its figures by name."""
    began = time.perf_counter()
    figures: dict[str, Any] = importlib.import_module(f"{__name__}.{name}").main(out)
    print(f"{name}: {time.perf_counter() - began:.1f} s")
    return figures
