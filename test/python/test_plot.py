"""Plots: their numbers against closed forms, and that what they write is what was asked for."""
import sys

import numpy as np
import pytest

import tangere as tg

pytest.importorskip("matplotlib")
import tangere.plot  # noqa: E402


def bowl(x):
    """x0^2 + 3 x0 x1 + 2 x1^4 with its gradient."""
    return x[0] ** 2 + 3 * x[0] * x[1] + 2 * x[1] ** 4, np.array([2 * x[0] + 3 * x[1], 3 * x[0] + 8 * x[1] ** 3])


def test_landscape_of_a_formula():
    at = np.array([0.3, -0.2])
    one = tg.plot.landscape(bowl, at, along=[1], span=(-1, 1), n=11)
    y = at[1] + one.data["x"]
    assert one.data["loss"] == pytest.approx(at[0] ** 2 + 3 * at[0] * y + 2 * y**4, abs=1e-12)
    assert one.data["slope"][0] == pytest.approx(3 * at[0] + 8 * y**3, abs=1e-12)
    assert one.data["difference"][0] == pytest.approx(one.data["slope"][0], abs=1e-7)
    slanted = tg.plot.landscape(bowl, at, along=[[3, 4]], span=(-1, 1), n=5)
    assert slanted.data["slope"][0] == pytest.approx([bowl(at + t * np.array([0.6, 0.8]))[1] @ [0.6, 0.8] for t in slanted.data["x"]])
    two = tg.plot.landscape(bowl, at, along=[0, 1], span=[(-1, 1), (-2, 2)], n=7)
    assert two.data["loss"].shape == (7, 7) and two.data["y"][-1] == 2
    assert two.data["loss"][6, 0] == pytest.approx(bowl(at + [1, -2])[0])
    assert two.data["slope"] == pytest.approx(two.data["difference"], abs=1e-5)


def test_landscape_shows_a_wrong_gradient():
    wrong = tg.plot.landscape(lambda x: (bowl(x)[0], 1.1 * bowl(x)[1]), np.zeros(2), along=[1], span=(-1, 1), n=5)
    assert abs(wrong.data["slope"] - wrong.data["difference"]).max() > 0.1


def test_landscape_of_a_task(models):
    task = tg.Task(str(models / "two_balls.yaml"))
    plot = tg.plot.landscape(task, along=[1], span=(-0.05, 0.05), n=5)
    assert plot.data["loss"][2] == pytest.approx(task.fun(task.x0)[0])
    assert plot.data["slope"][0][1] == pytest.approx(plot.data["difference"][0][1], rel=1e-4)
    for options, text in (({"span": (1, 1)}, "span"), ({"along": [7], "span": (0, 1)}, "variable 7 of 2"), ({"along": [[0, 0]], "span": (0, 1)}, "direction"),
                          ({"along": [0, 1, 1], "span": (0, 1)}, "one or two")):
        with pytest.raises(ValueError, match=text):
            tg.plot.landscape(task, **options)
    with pytest.raises(ValueError, match="at and span"):
        tg.plot.landscape(bowl)


def test_what_an_interrupt_leaves():
    calls = []

    def broken_off(x):
        calls.append(x)
        if len(calls) == 8:   # in the third point of one way: each has a gradient and two losses
            raise KeyboardInterrupt
        return bowl(x)

    at = np.array([0.3, -0.2])
    whole = tg.plot.landscape(bowl, at, along=[1], span=(-1, 1), n=5)
    assert tg.plot.interrupted is None
    with pytest.raises(KeyboardInterrupt):
        tg.plot.landscape(broken_off, at, along=[1], span=(-1, 1), n=5)
    left = tg.plot.interrupted
    for name in ("loss", "slope", "difference"):
        assert np.array_equal(left.data[name][..., :2], whole.data[name][..., :2]) and np.isnan(left.data[name][..., 2:]).all()
    assert left._repr_png_().startswith(b"\x89PNG")
    for first in (1, 6):   # nothing, and one point of two ways
        calls[:] = [None] * (8 - first)
        with pytest.raises(KeyboardInterrupt):
            tg.plot.landscape(broken_off, at, along=[0, 1], span=(-1, 1), n=5)
        left = tg.plot.interrupted
        assert left is None if first == 1 else np.isfinite(left.data["loss"]).sum() == 1
    tg.plot.landscape(bowl, at, along=[1], span=(-1, 1), n=5)
    assert tg.plot.interrupted is None


def test_force_profile(models):
    """lcp of contacts that touch removes erp of an overlap in a step, m erp d/h^2, and moves it apart without force else. Apart, only contact models with a range push, and the Jacobian is the slope."""
    touch, h = 0.13, 1e-3
    y = np.array([-0.01, -0.004, 0.01, 0.012, 0.014])
    profile = lambda *words, **more: tg.plot.force_profile(models / "two_spheres.xml", "y", touch + y, words, dt=h, zero=touch, **more)
    assert (profile("lcp").data["lcp"] == 0).all()
    plot = profile("lcp", "barrier", "softmin", options={"lcp": {"contact_rule": "touching"}})
    data = plot.data
    assert data["x"] == pytest.approx(y)
    assert data["lcp"] == pytest.approx(np.where(y < 0, 0.2 * -y / h**2, 0), rel=1e-6, abs=1e-9)
    assert data["lcp slope"] == pytest.approx(np.where(y < 0, -0.2 / h**2, 0), rel=1e-6, abs=1e-6)
    assert np.isnan(data["barrier"][:2]).all() and (data["barrier"][2:] > 0).all()
    fine = touch + 0.012 + np.linspace(-1e-5, 1e-5, 3)
    near = tg.plot.force_profile(models / "two_spheres.xml", "y", fine, ["barrier", "softmin"], dt=h).data
    for word in ("barrier", "softmin"):
        assert near[word + " slope"][1] == pytest.approx(near[word + " difference"][1], rel=1e-3), word


def test_convergence(tmp_path, models):
    best = tg.Task(str(models / "two_balls.yaml"), method="adam", iterations=5).optimize()
    plot = tg.plot.convergence({"adam": best, "array": [3.0, 1.0, 2.0]})
    assert plot.data["adam loss"] == pytest.approx(best.curve)
    assert list(plot.data["array best"]) == [3, 1, 1]
    (tmp_path / "run").mkdir()
    (tmp_path / "run/loss.csv").write_text("iteration,loss,best\n0,4,4\n1,nan,4\n2,1,1\n")
    folder = tg.plot.convergence({"run": tmp_path / "run"})
    assert list(folder.data["run best"]) == [4, 4, 1]
    with pytest.raises(ValueError, match="'run' does not say how long"):
        tg.plot.convergence({"run": tmp_path / "run"}, over="seconds")
    (tmp_path / "run/run.json").write_text('{"seconds": 6.0}')
    assert list(tg.plot.convergence({"run": tmp_path / "run"}, over="seconds").data["run x"]) == [0, 3, 6]


def test_save(tmp_path):
    def draw():
        return tg.plot.convergence({"a & b": [3.0, 2.0, 1.0]})
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("html", b"<!doctype html>")):
        path = draw().save(tmp_path / f"x.{kind}")
        assert path.read_bytes().startswith(start)
    page = (tmp_path / "x.html").read_text()
    assert "<svg" in page and "a &amp; b loss" in page and "http-equiv" not in page and "<script" not in page
    assert draw().save(tmp_path / "again.svg").read_bytes() == (tmp_path / "x.svg").read_bytes()
    with pytest.raises(ValueError, match="'x.pdf' ends in none"):
        draw().save("x.pdf")


def test_without_matplotlib(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        tg.plot.convergence({"a": [1.0]})


def test_command_line(tmp_path, models, capsys, monkeypatch):
    out = tmp_path / "l.svg"
    assert tg.plot.main(["landscape", str(models / "two_balls.yaml"), "--span", "-0.05", "0.05", "-n", "3", "--out", str(out)]) == 0
    assert out.exists()
    whole, calls = tg.plot.landscape, []

    def fun(x):
        calls.append(x)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return bowl(x)

    monkeypatch.setattr(tg.plot, "landscape", lambda *_, **__: whole(fun, np.zeros(2), span=(-1, 1), n=5))
    for left in (True, False):
        out.unlink()
        assert tg.plot.main(["landscape", str(models / "two_balls.yaml"), "--out", str(out)]) == 130
        assert out.exists() == left and "interrupted" in capsys.readouterr().err
        calls[:] = [None] * 7   # next time in the first point
        out.touch()
    assert tg.plot.main(["convergence", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
