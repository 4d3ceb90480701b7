"""`tangere compare`: tables of tasks, contact models, methods and properties."""
import json

import numpy
import pytest

from command_line import ROOT, TASK, one_stage, run


def test_compare_shows_what_the_contact_gradient_is_worth(tmp_path):
    rows = json.loads(run("compare", one_stage(tmp_path), "--baselines", "--json").stdout)["rows"]
    assert [r["name"] for r in rows] == ["as in the task", "no contact gradient", "random search"]
    assert rows[1]["gradient"] == "surrogate"
    assert rows[1]["loss_over_first_row"] >= 5 and rows[2]["loss_over_first_row"] >= 5
    assert rows[2]["simulations"] >= rows[0]["simulations"]


def test_compare_puts_tasks_and_contact_models_in_one_table():
    tasks = ["models/two_balls.yaml", TASK]
    done = run("compare", *tasks, "--contact", "lcp,barrier,semi", "--iterations", 1, "--json", code=3)
    rows = json.loads(done.stdout)["rows"]
    assert [(r["task"], r["name"]) for r in rows] == [(t, c) for t in tasks for c in ("lcp", "barrier", "semi")]
    assert "semi" in done.stderr and rows[2]["best_loss"] is None
    assert rows[0]["first_loss"] == pytest.approx(0.1**2, rel=0.1) and rows[0]["distance_m"] == pytest.approx(0.1, rel=0.1)
    assert run("compare", TASK, "--contact", "semi", code=2).stdout.count("\n") <= 2


def test_compare_reads_all_tasks_before_it_runs_one(tmp_path):
    done = run("compare", "models/two_balls.yaml", tmp_path / "nowhere.yaml", "--out", tmp_path / "out", code=2)
    assert "nowhere.yaml" in done.stderr and "iteration" not in done.stderr and done.stdout == "" and "again" not in done.stderr


def test_compare_ends_a_row_when_its_time_is_over():
    done = run("compare", "models/two_balls.yaml", "--contact", "sdrs,lcp", "--seconds", 2, "--json", code=3)
    late, quick = json.loads(done.stdout)["rows"]
    assert late["stopped"] and late["outcome"].startswith("stopped after 2.") and late["seconds"] < 10
    assert not quick["stopped"] and quick["reached"] and quick["outcome"] == "reached" and quick["iterations"] > 5
    assert "lcp: iteration 1 of 60" in done.stderr and "stopped after 2." in done.stderr


def test_compare_tells_the_loss_of_the_whole_motion_where_a_receding_horizon_is_stopped(tmp_path):
    # With steps of the optimiser that move nothing each of 160 steps costs the same, however far a machine gets in the time, and a window of 40 is a quarter of the whole.
    (tmp_path / "push.xml").write_text((ROOT / "models/push.xml").read_text())
    still = (ROOT / "models/push_demo.yaml").read_text().replace("rate: 0.012", "rate: 1.0e-12")
    assert still.count("1.0e-12") == 1
    (tmp_path / "still.yaml").write_text(still)
    row = json.loads(run("compare", tmp_path / "still.yaml", "--contact", "barrier", "--seconds", 3, "--json", code=3).stdout)["rows"][0]
    assert row["stopped"] and not row["reached"]
    assert row["best_loss"] is None or row["best_loss"] == pytest.approx(row["first_loss"], rel=0.01)


def test_properties_of_contact_models():
    rows = {r["contact"]: r for r in json.loads(run("compare", "--properties", "--json").stdout)["rows"]}
    assert {"barrier", "barrier, publication", "barrier, every pair"} <= set(rows)   # a potential that blends, in its forms
    lcp = rows["lcp"]
    assert not lcp["barrier_form"]["refuses_overlap"] and not lcp["never_vanishes"]["holds"] and lcp["never_pulls"]["holds"]
    assert lcp["twice_differentiable"]["holds"] is None       # an impact in time: no force at rest
    touching = json.loads(run("compare", "--properties", "--contact", "lcp", "--option", "contact_rule=touching", "--json").stdout)["rows"][0]
    assert abs(touching["twice_differentiable"]["halving_ratio"] - 0.5) < 0.05     # over an edge its force jumps
    for word in ("barrier", "barrier, publication", "barrier, every pair"):
        for name in ("barrier_form", "twice_differentiable", "never_pulls", "never_vanishes"):
            assert word not in rows or rows[word][name]["holds"], (word, rows[word][name])
    # the row of IPC in table 1 of the barrier's publication
    ipc = rows["ipc"]
    assert ipc["barrier_form"]["refuses_overlap"] and ipc["never_pulls"]["holds"]
    assert not ipc["twice_differentiable"]["holds"] and ipc["twice_differentiable"]["halving_ratio"] < 1.2 and not ipc["never_vanishes"]["holds"]
    # a force between points: overlaps are allowed, corners pull by a little, and where points are left out the force is small
    soft = rows["softmin"]
    assert not soft["barrier_form"]["refuses_overlap"] and not soft["never_vanishes"]["holds"]
    assert soft["twice_differentiable"]["holds"] or soft["twice_differentiable"]["share_of_force"] < 1e-9
    assert soft["never_pulls"]["pushes"] > 5000 and soft["never_pulls"]["strongest_pull"] < 1e-2
    assert "compare --properties" in run("compare", code=1).stderr


def test_properties_under_options(tmp_path):
    def of(word, *more):
        return {r["contact"]: r for r in json.loads(run("compare", "--properties", "--contact", word, "--json", *more).stdout)["rows"]}
    # the weight multiplies the potential, so all of its forces; by default it is 1e-6
    one, more = (of("barrier", "--option", "hierarchy=brute", *mu)["barrier"]["never_vanishes"]["force_N"] for mu in ([], ["--option", "weight=1e-3"]))
    assert len(one) == 11 and all(numpy.isclose(more[d], 1000 * f, rtol=1e-12) for d, f in one.items())
    assert list(of("lcp,softmin")) == ["lcp", "softmin"]
    still = run("compare", "--properties", "--contact", "toi").stdout      # no force at any distance, and no ratio of two
    assert "no, no force apart" in still and "nan" not in still
    done = run("compare", "--properties", "--contact", "lcp", "--option", "weight=1e-3")
    assert "no, overlaps" in done.stdout
    assert "option weight does nothing under the contact model 'lcp'" in done.stderr
    assert "called 'age'; 'lcp' has erp, " in run("compare", "--properties", "--option", "age=7", code=1).stderr
    assert "takes one of moment, paper, brute" in run("compare", "--properties", "--option", "hierarchy=fine", code=1).stderr
    assert "give 0 to 1" in run("compare", "--properties", "--contact", "lcp", "--option", "erp=7", code=2).stderr
    assert "called 'rubber'" in run("compare", "--properties", "--contact", "rubber", code=2).stderr
    assert "or tangere compare --properties" in run("compare", TASK, "--properties", code=1).stderr
    run("compare", "--properties", "--contact", "lcp", "--option", "erp=0.1", "--out", tmp_path)
    assert json.loads((tmp_path / "compare.json").read_text())["options"] == {"erp": "0.1"}


def test_compare_refuses_more_rows_than_it_has():
    task, words = "models/slide_block_identify.yaml", ",".join(["no_model"] * 14)
    assert "more than" not in run("compare", task, "--contact", words, code=2).stderr   # tried one by one
    for contact, method in ((words + ",lcp", "adam"), ("lcp,toi", ",".join(["adam"] * 8)), (",".join(["lcp"] * 40), "adam"), ("lcp" + "," * 300, "adam")):
        assert "more than 14" in run("compare", task, "--contact", contact, "--method", method, code=1).stderr


def test_compare_takes_several_methods():
    # what they find in steps of 2 ms is not all true of shorter ones, which is told
    rows = json.loads(run("compare", TASK, "--method", "ilqr,adam,gauss_newton", "--iterations", 12, "--json", code=3).stdout)["rows"]
    assert [r["name"] for r in rows] == ["ilqr", "adam", "gauss_newton"]
    assert rows[2]["met"] and not rows[2]["reached"] and rows[2]["outcome"].startswith("does not hold: finer (")
    assert rows[0]["best_loss"] < 1e-3 * rows[1]["best_loss"]  # second-order methods against first, as many iterations


def test_compare_knows_no_loss_of_a_model_that_is_not_there():
    rows = json.loads(run("compare", TASK, "--contact", "lcp,nothing", "--iterations", 1, "--json", code=3).stdout)["rows"]
    assert rows[0]["best_loss"] > 0
    assert rows[1]["first_loss"] is None and rows[1]["best_loss"] is None and rows[1]["loss_over_first_row"] is None
    # nor is the comparison done where the first row has reached its target
    rows = json.loads(run("compare", "models/two_balls.yaml", "--contact", "lcp,nothing", "--json", code=3).stdout)["rows"]
    assert rows[0]["reached"] and not rows[1]["reached"]
