"""The public interface: every name documented, typed, and nothing imported that is not needed."""
import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import tangere as tg

SAMPLE = '''
import numpy as np
import tangere as tg

model: tg.Model = tg.load("robot.xml")
sim = tg.Sim(model, contact="barrier", dt=0.01, weight=1e-6)
info: tg.StepInfo = sim.step(np.zeros(model.nu))
J: tg.Jacobians = sim.jacobians(params=["body_mass"])
roll: tg.Rollout = sim.rollout(np.zeros((10, model.nu)))
g: tg.RolloutGradient = roll.backward(dq=np.zeros(model.nv))
label: str = g.label
speed: float = float(roll.v[-1, 0] + sim.qpos[0])
ok: bool = tg.gradcheck(sim).ok
'''


def members():
    for name in tg.__all__:
        thing = getattr(tg, name)
        yield name, thing
        if inspect.isclass(thing):
            for key, value in vars(thing).items():
                if not key.startswith("_") and (callable(value) or isinstance(value, property) or hasattr(value, "__get__")):
                    yield f"{name}.{key}", value


@pytest.mark.parametrize("name, thing", list(members()), ids=[name for name, _ in members()])
def test_documented(name, thing):
    assert (inspect.getdoc(thing) or "").strip(), f"{name} has no docstring"


@pytest.mark.parametrize("module", ["cluster", "envs", "gym", "identify", "jax", "plot", "replay", "torch", "examples"])
def test_modules_are_documented(module):
    module = pytest.importorskip(f"tangere.{module}")
    assert inspect.getdoc(module)
    own = {n: x for n, x in vars(module).items() if not n.startswith("_") and getattr(x, "__module__", "") == module.__name__}
    assert own
    for name, thing in own.items():
        assert (inspect.getdoc(thing) or "").strip(), f"{name} has no docstring"
        for key, value in vars(thing).items() if inspect.isclass(thing) else ():
            assert key.startswith("_") or not callable(value) or (inspect.getdoc(value) or "").strip(), f"{name}.{key} has no docstring"


@pytest.mark.parametrize("what", [["-p", "tangere.examples"], ["-m", "tangere._tangere"]], ids=["examples", "stubs"])
def test_strictly_typed(what, tmp_path):
    """mypy --strict on the package's own stubs and on the examples; that SciPy has no stubs is not theirs."""
    pytest.importorskip("mypy")
    for needed in ("scipy", "torch"):
        pytest.importorskip(needed)
    import tangere.examples
    call = [sys.executable, "-m", "mypy", "--strict", "--disable-error-code", "import-untyped", "--follow-imports", "silent", "--cache-dir", str(tmp_path), *what]
    above = pathlib.Path(tangere.__file__).parents[1]   # mypy finds an installed package by itself, and refuses to be told of it
    environment = {k: v for k, v in os.environ.items() if k != "MYPYPATH"} | ({} if above.name == "site-packages" else {"MYPYPATH": str(above)})
    run = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Success" in run.stdout


def test_import_needs_no_framework():
    code = "import sys, tangere; print([m for m in ('torch', 'jax', 'gymnasium', 'scipy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_typed(tmp_path):
    pytest.importorskip("mypy")
    sample = tmp_path / "sample.py"
    sample.write_text(SAMPLE)
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", str(sample)], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout
    sample.write_text(SAMPLE.replace("label: str", "label: int"))
    assert subprocess.run([sys.executable, "-m", "mypy", "--strict", str(sample)], capture_output=True, cwd=tmp_path).returncode != 0


def test_package_is_marked_as_typed():
    assert (pathlib.Path(tg.__file__).parent / "py.typed").exists() and (pathlib.Path(tg.__file__).parent / "_tangere.pyi").exists()


BALL = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.2"><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("word", tg.contact_models())
def test_an_option_of_a_list_reaches_every_language(word):
    """Python takes it by name and the command line's help lists it; its page, task files and C: test_docs, test_optim_faults, test_options."""
    from tangere import _program
    said = _program.call("simulate", "--help")
    listed = said.split(f"options of the contact model '{word}':")[1].split("options of the contact model")[0]
    model = tg.loads(BALL)
    for option in tg.contact_options(word):
        assert option.name in listed.split(), option.name
        tg.Sim(model, contact=word, **{option.name: option.default})
        with pytest.raises(tg.Error, match=option.name):
            tg.Sim(model, contact=word, **{option.name: "nonsense"})
