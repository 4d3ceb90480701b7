"""The command line in the package: what the word `tangere` runs."""

import os
import pathlib
import subprocess
import sys

from ._errors import Error

_HERE = pathlib.Path(__file__).absolute().parent


def path() -> pathlib.Path:
    """Path of the program."""
    program = _HERE / "bin" / "tangere"
    if not program.exists():
        raise Error(f"{program} is not there: `pip install .` puts it there")
    return program


def environ() -> dict[str, str]:
    """Environment in which it finds the package's models, its Python and the page that replays are made of; what is set already stays."""
    page = _HERE / "share" / "tangere" / "viewer.html"
    found = {"TANGERE_MODELS": str(_HERE / "models"), "TANGERE_PYTHON": sys.executable}
    return found | ({"TANGERE_VIEWER": str(page)} if page.exists() else {}) | os.environ


def call(*arguments: object) -> str:
    """Runs it; raises Error with what it says when it fails. Returns what it wrote to standard output."""
    run = subprocess.run([path(), *map(str, arguments)], env=environ(), capture_output=True, text=True)
    if run.returncode != 0:
        raise Error(run.stderr.strip())
    return run.stdout


def main() -> None:
    """The entry point: becomes the program."""
    try:
        os.execve(path(), ["tangere", *sys.argv[1:]], environ())
    except Error as missing:
        sys.exit(str(missing))
