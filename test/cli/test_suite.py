"""The tasks of models/tasks as tools/suite.py draws them: each loads, starts free of overlap and is improved upon; runs are skipped, taken up and told apart."""
import json
import pathlib
import re
import stat
import subprocess
import sys

import pytest

from command_line import EXE, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import suite  # noqa: E402

NAMES = sorted(p.stem for p in suite.TASKS.glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_task_runs(name, tmp_path):
    text = re.sub(r", stage: \d+", "", suite.without(suite.without(suite.task_text(name, 1, None, None), "refine"), "receding"))
    text = suite.setting(text, "optimizer", "iterations", 1)
    for key, few in (("population", 2), ("elites", 1), ("keep", 0), ("starts", 1), ("attempts", 1)):
        if re.search(rf"\b{key}:", text):
            text = suite.setting(text, "optimizer", key, few)
    (tmp_path / "t.yaml").write_text(suite.without(text, "verify") + "verify: {rows: [none]}\n")
    done = subprocess.run([EXE, "optimize", tmp_path / "t.yaml", "--out", tmp_path / "run", "--no-replay", "--separate=0", "--threads", "1"], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 3), done.stderr
    run = json.loads((tmp_path / "run/run.json").read_text())
    assert "separated" not in run, f"{name}: bodies overlap at the start: {run['separated']}"
    assert run["best_loss"] is not None and run["distance_m"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_seeds_differ_and_judges_stand(name):
    texts = [suite.task_text(name, seed, None, None) for seed in range(1, 6)]
    assert len(set(texts)) == 5 and texts[0] == suite.task_text(name, 1, None, None)
    assert re.search(r"^success: \{distance: ", texts[0], re.M)
    verify = re.search(r"^verify: \{rows: \[(.*?)\]", texts[0], re.M)     # without it: shorter steps and all rigid models
    assert verify is None or {"finer", "lcp"} <= {w.strip() for w in verify[1].split(",")}


def test_pushes_are_those_of_the_suite():
    """models/tasks/pushes, which BA-R4 takes: as --write-pushes writes them, each over a model that is there, with the draw of its seed"""
    written = {name: text for name, text in suite.pushes()}
    kept = {p.name: p.read_text() for p in (suite.TASKS / "pushes").glob("*")}
    assert kept == written and len(kept) == 10, "tools/suite.py --write-pushes makes them anew"
    for seed in range(1, 11):
        text, task = kept[f"{seed}.yaml"], suite.task_text("push_far", seed, None, None)
        model = suite.TASKS / "pushes" / re.search(r"^model: *(\S+)", text, re.M)[1]
        assert model.resolve() == pathlib.Path(re.search(r"^model: *(\S+)", task, re.M)[1]) and model.exists()
        assert text.partition("\ncontact:")[2] == task.partition("\ncontact:")[2]


def test_draws_need_their_place():
    text = "start: {joints: [{joint: a, position: [1, 2]}]}\nlosses:\n  - {term: body_com, name: b, target: [1, 0, 0], weight: 1}\n"
    assert "position: [1, 2.5]" in suite.shift(text, "start a 1", 0.5) and "target: [0.75, 0, 0]" in suite.shift(text, "target b 0", -0.25)
    with pytest.raises(SystemExit, match="start b 0"):
        suite.shift(text, "start b 0", 1)


def test_baselines():
    text = "contact: barrier\nhorizon: {steps: 100}\nlosses:\n  - {weight: 1, stage: 1}\noptimizer: {method: adam, iterations: 20}\nreceding: {horizon: 20, apply: 10}\nrefine:\n  - {contact: lcp}\nsuccess: {distance: 1}\n"
    softmin, cem = suite.as_baseline(text, "softmin", 1000), suite.as_baseline(text, "cem", 1000)
    assert "contact: softmin" in softmin and "iterations: 100}" in softmin and "refine" not in softmin and "stage" not in softmin and "success" in softmin
    lcp = suite.as_baseline("contact: lcp\noptimizer: {method: cem, iterations: 9, population: 48, sigma: 0.5, decay: 0.9}\nrefine:\n  - {contact: lcp, timestep: 0.1, rate: 0.02}\n", "lcp", 1000)
    assert "{method: adam, iterations: 1000, rate: 0.02}" in lcp
    coned = suite.as_baseline("contact: lcp\noptimizer: {method: adam, iterations: 9}\nverify: {rows: [finer, lcp, cone], distance: 0.03}\n", "lcp", 10)
    assert "verify: {rows: [finer, lcp], distance: 0.03}" in coned
    mixed = suite.as_baseline("contact: lcp\noptimizer: {method: gauss_newton, iterations: 9}\n", "mixed", 900)
    assert "{method: adam, iterations: 100, smoothing: mixed, population: 8, rate: 0.01}" in mixed
    assert "contact: lcp" in cem and "method: cem, iterations: 32, population: 32" in cem and "receding" not in cem


def test_seeds_are_counted_or_named():
    assert suite.numbers("3") == [1, 2, 3] and suite.numbers("4,1") == [4, 1] and suite.numbers("4,") == suite.numbers("4,4") == [4]


def test_motions_in_mujoco_stand_beside():
    row = lambda verdict, left: {"mujoco": {"verdict": verdict, "reason": "", "distance_m": left}}
    assert suite.elsewhere([row("misses", 0.5), row("holds", 0.01), {"mujoco": None}]) == "1 of 2 hold; 1 cm, 50 cm"
    assert suite.elsewhere([{"mujoco": None}]) == "-" and suite.elsewhere([]) == "-"
    assert "restitution" in suite.elsewhere([{"mujoco": {"verdict": "not expressed", "reason": "the task has restitution", "distance_m": None}}])


PROGRAM = """#!{python}
import json, pathlib, sys, time
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
seed = int(sys.argv[sys.argv.index("--seed") + 1])
out.mkdir(exist_ok=True)
with open(out / "calls", "a") as f:
    f.write(" ".join(sys.argv[1:]) + "\\n")
row = lambda name, verdict, left: dict(name=name, what="", verdict=verdict, required=True, distance_m=left)
rows = [row("finer", "holds", 0.001), row("lcp", "misses" if seed == 2 else "holds", 0.5 if seed == 2 else 0.004)]
if seed == 3:
    (out / "checkpoint").write_text("")
    time.sleep(60)
(out / "run.json").write_text(json.dumps(dict(reached=seed != 2, met=True, contact="lcp", simulations=7, distance_m=0.001, verification=rows)))
sys.exit(3 if seed == 2 else 0)
"""


def run(tmp_path, *words):
    return subprocess.run([sys.executable, ROOT / "tools/suite.py", "--tasks", "slide", "--out", tmp_path / "s", "--tangere", tmp_path / "program", *words], capture_output=True, text=True, timeout=60)


def test_runs_are_judged_skipped_and_cut_off(tmp_path):
    program = tmp_path / "program"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    done = run(tmp_path, "--seeds", "3", "--jobs", "3", "--seconds", "1.5")
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "s/suite.md").read_text()
    assert "| `slide` | 1 of 3 |" in table and "0.4 cm" in table and "lcp misses: seed 2 (50 cm)" in table and "out of time: seed 3" in table
    runs = {r["seed"]: r for r in json.loads((tmp_path / "s/suite.json").read_text())["runs"]}
    assert runs[1]["reached"] and runs[1]["worst_replay_m"] == 0.004 and not runs[2]["reached"] and runs[3]["seconds"] >= 1.5
    assert run(tmp_path, "--seeds", "3", "--seconds", "1.5").returncode == 0
    assert all(len((tmp_path / f"s/slide/{k}/run/calls").read_text().splitlines()) == 1 for k in (1, 2, 3))     # what has ended is left alone
    (tmp_path / "s/slide/3/state.json").write_text('{"seconds": 1}')                                            # as a kill leaves it
    assert run(tmp_path, "--seeds", "3", "--seconds", "1.5").returncode == 0
    assert "--resume" in (tmp_path / "s/slide/3/run/calls").read_text().splitlines()[1]
    assert "there is no task 'none'" in run(tmp_path, "--tasks", "none").stderr
