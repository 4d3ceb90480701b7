"""Optimisations that end early: what they leave, and how they are taken up again."""
import subprocess

import numpy as np
import pytest

import tangere as tg
from tangere import _program

METHODS = ["adam", "lbfgs", "cem", "ilqr"]   # the first two record evaluations, one populations, one iterations


def task(models, method="adam", iterations=6):
    return tg.Task(models / "half_cheetah_reach.yaml", method=method, iterations=iterations)


def stop_after(n):
    def progress(p):
        if p["iteration"] == n:
            raise TimeoutError("enough")
    return progress


def same(a, b):
    np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_array_equal(a.curve, b.curve)
    assert (a.loss, a.iterations, a.evaluations, a.reached) == (b.loss, b.iterations, b.evaluations, b.reached)


@pytest.mark.parametrize("method", METHODS)
def test_taken_up_to_the_same_bits(models, tmp_path, method):
    if method == "ilqr":
        def make():
            return tg.Task(models / "cartpole.yaml", iterations=6)
    else:
        def make():
            return task(models, method)
    whole = make().optimize(verify=False)
    begun, seen = make(), []
    with pytest.raises(TimeoutError, match="enough"):
        begun.optimize(verify=False, journal=tmp_path / "run", progress=stop_after(3))
    part = begun.interrupted
    assert part.status == "cancelled by the caller" and part.iterations == 3
    np.testing.assert_array_equal(part.curve, whole.curve[:3])
    assert begun.fun(part.x)[0] == pytest.approx(part.loss, rel=1e-12) and part.loss <= part.first_loss
    again = make()
    same(again.optimize(verify=False, journal=tmp_path / "run", resume=True, progress=lambda p: seen.append(p["replayed"])), whole)
    assert again.interrupted is None and seen == [True] * 3 + [False] * 3


def test_partial_results_can_be_looked_at(models, tmp_path):
    from tangere import replay
    begun = task(models)
    with pytest.raises(TimeoutError):
        begun.optimize(verify=False, progress=stop_after(2))
    if not (_program._HERE / "share/tangere/viewer.html").exists():
        pytest.skip("the package is made without the replay's page")
    replay.write(tmp_path / "part.html", begun, begun.interrupted)
    assert 'id="tangere-replay"' in (tmp_path / "part.html").read_text()


def test_a_journal_is_not_lost_by_mistake(models, tmp_path):
    path = tmp_path / "run"
    task(models).optimize(verify=False, journal=path)
    before = path.read_bytes()
    with pytest.raises(tg.Error, match="holds an earlier run"):
        task(models).optimize(verify=False, journal=path)
    with pytest.raises(tg.Error, match="another task, model, seed"):
        task(models).optimize(verify=False, seed=1, journal=path, resume=True)
    assert path.read_bytes() == before
    task(models, iterations=2).optimize(verify=False, seed=1, journal=path, overwrite=True)
    assert path.read_bytes() != before


def test_a_new_journal_may_be_resumed(models, tmp_path):
    same(task(models, iterations=2).optimize(verify=False, journal=str(tmp_path / "new"), resume=True), task(models, iterations=2).optimize(verify=False))


@pytest.mark.parametrize("how, text", [({"resume": True}, "journal"), ({"overwrite": True}, "journal"), ({"journal": "x", "resume": True, "overwrite": True}, "one or the other")])
def test_what_makes_no_sense_is_refused(models, how, text):
    with pytest.raises(ValueError, match=text):
        task(models).optimize(verify=False, **how)


def test_a_journal_that_cannot_be_written_is_named(models, tmp_path):
    with pytest.raises(tg.Error, match="nowhere"):
        task(models).optimize(verify=False, journal=tmp_path / "nowhere" / "run")


def test_the_command_lines_checkpoint_is_taken_up(models, tmp_path):
    file = tmp_path / "reach.yaml"
    text = (models / "half_cheetah_reach.yaml").read_text().replace("half_cheetah.xml", str(models / "half_cheetah.xml"))
    file.write_text(text.replace("iterations: 120", "iterations: 4"))
    subprocess.run([_program.path(), "optimize", file, "--out", tmp_path / "out", "--no-replay"], env=_program.environ(), capture_output=True)
    seen = []
    found = tg.Task(file, iterations=6).optimize(verify=False, journal=tmp_path / "out/checkpoint", resume=True, progress=lambda p: seen.append(p["replayed"]))
    same(found, task(models).optimize(verify=False))
    assert seen == [True] * 4 + [False] * 2
