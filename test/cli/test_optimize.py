"""`tangere optimize` and `batch`: results, signals, resumed runs, journals."""
import json
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import time

import numpy
import pytest

from command_line import EXE, MODEL, ROOT, TASK, one_stage, run


def test_optimize_reaches_its_target_and_repeats_its_bits(tmp_path):
    first = json.loads(run("optimize", TASK, "--out", tmp_path / "a", "--json").stdout)
    again = json.loads(run("optimize", TASK, "--out", tmp_path / "b", "--json").stdout)
    assert first["reached"] and first["distance_m"] < 0.03
    assert first["best_loss"] == again["best_loss"]
    x = [numpy.load(tmp_path / f / "trajectory.npz")["variables"] for f in "ab"]
    assert numpy.array_equal(*x)
    assert (tmp_path / "a" / "loss.csv").read_text().startswith("iteration,loss,best,stage\n")
    # poses, contacts, loss, target and figures are all in the folder, so the replay made from it is the same
    run("replay", tmp_path / "a", "--out", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "a" / "replay.html").read_bytes()


def test_a_motion_that_holds_nowhere_else_is_not_reached(tmp_path):
    text = (ROOT / TASK).read_text().replace("options: {", "options: {contact_rule: touching, ").replace("model: half", f"model: {ROOT}/models/half")
    (tmp_path / "cheetah.yaml").write_text("".join(line for line in text.splitlines(True) if not line.startswith("refine:")))
    done = run("optimize", tmp_path / "cheetah.yaml", "--out", tmp_path / "out", code=3)
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert told["met"] and not told["reached"]
    row = told["verification"][0]
    assert (row["name"], row["verdict"], row["required"]) == ("finer", "misses", True) and row["distance_m"] > 0.03
    assert "does not hold: finer (the same, steps of 0.25 ms)" in done.stderr
    assert re.match(r"not reached: \d\.\d cm left of \d+ cm \(wanted <= 3.0 cm\), but .*; replayed: finer \d\.\d cm, toi \d+(\.\d)? cm$", done.stderr.splitlines()[-1])


def test_gradients_of_another_contact_model(tmp_path):
    (tmp_path / "push.xml").write_text((ROOT / "models/push.xml").read_text())
    (tmp_path / "t.yaml").write_text("model: push.xml\ncontact: lcp\nhorizon: {steps: 2, timestep: 0.01}\ncontrols: {}\n"   # the box has not landed yet
                                     "losses: [{term: body_com, name: box, target: [0.8, 0, 0], axes: xy, weight: 1}]\n"
                                     "optimizer: {method: descent, iterations: 1, rate: 1}\n")
    optimize = lambda *more: json.loads(run("optimize", tmp_path / "t.yaml", "--out", tmp_path / "o", "--overwrite", "--no-replay", "--json", *more).stdout)
    plain, by = optimize(), optimize("--gradient", "barrier")
    assert plain["gradient"] in ("exact", "one-sided") and by["gradient"] == "surrogate" and "of contact model 'barrier'" in by["gradient_reason"]
    assert plain["first_loss"] == by["first_loss"]
    assert plain["effort"] == {"share": 0.001, "weight": pytest.approx(0.001 * 0.8 ** 2), "by_default": True, "reason": ""}
    assert "effort 0.001 by default" in run("optimize", tmp_path / "t.yaml", "--no-trust").stderr
    assert "trust_first" in plain and "trust_first" not in optimize("--no-trust")
    assert "barier" in run("optimize", tmp_path / "t.yaml", "--gradient", "barier", "--out", tmp_path / "no", code=2).stderr


def test_missed_target_is_exit_3(tmp_path):
    said = run("optimize", TASK, "--iterations", 2, "--out", tmp_path, "--no-replay", code=3).stderr.splitlines()
    left, of = re.fullmatch(r"not reached: (\d+) cm left of (\d+) cm \(wanted <= 3.0 cm\)", said[-1]).groups()
    assert int(left) == round(100 * json.loads((tmp_path / "run.json").read_text())["distance_m"]) and int(left) < int(of)
    assert any(line.startswith("stage 2 of 2: iteration 2 of 2: loss ") for line in said)
    kept = json.loads((tmp_path / "run.json").read_text())
    assert kept["trust_first"]["range"] > 0 and kept["trust_first"]["loss"] == kept["first_loss"] and kept["trust_best"]["loss"] == pytest.approx(kept["best_loss"])
    assert sum(line.startswith("trust in the ") and "the adjoint grows by " in line for line in said) == 2


AT_ITS_END = """model: m.xml
contact: barrier
horizon: {steps: 5, timestep: 0.01}
initial: [{joint: x, part: velocity, low: -1, high: 1}]
losses: [{term: joint_position, name: x, target: [0.1], weight: 1}]
optimizer: {method: adam, iterations: 2, rate: 0.1}
verify: {rows: []}
"""


def test_a_start_that_fails_leaves_nothing_to_resume(tmp_path):
    """The joint is drawn at the end of its range: no step under the barrier starts there, until it is asked to move it inside."""
    (tmp_path / "m.xml").write_text('<mujoco><worldbody><body><joint name="x" type="slide" range="0 2"/><geom size="0.1"/></body></worldbody></mujoco>')
    (tmp_path / "t.yaml").write_text(AT_ITS_END)
    out = ["optimize", tmp_path / "t.yaml", "--no-replay", "--no-trust", "--out", tmp_path / "o"]
    assert "joint 'x' is not inside its lower limit" in run(*out, code=2).stderr
    assert "inside: 0.05" in run(*out, code=2).stderr
    run(*out, "--inside-limits")
    assert "holds an earlier run" in run(*out, code=2).stderr


STUCK = """model: m.xml
contact: lcp
horizon: {steps: 20, timestep: 0.005}
controls: {every: 5}
losses: [{term: body_position, name: puck, target: [0.5, 0, 0], axes: x}]
optimizer: {method: adam, iterations: 3, rate: 0.1}
success: {distance: 0.02}
"""


def test_what_was_found_is_told_though_the_page_cannot_be_written(tmp_path, monkeypatch):
    """A puck that its motor does not tear off the floor: the first gradient is a rounding, no change of the loss was tried."""
    (tmp_path / "m.xml").write_text('<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="puck" pos="0 0 0.05"><joint name="x" type="slide" axis="1 0 0"/>'
                                    '<joint name="z" type="slide" axis="0 0 1"/><geom type="box" size=".05 .05 .05" mass="1"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>')
    (tmp_path / "t.yaml").write_text(STUCK)
    monkeypatch.setenv("TANGERE_VIEWER", str(tmp_path / "nowhere.html"))
    said = run("optimize", tmp_path / "t.yaml", "--out", tmp_path / "o", code=4).stderr
    assert "nowhere.html is not there" in said and "replay: " not in said
    assert re.search("^loss 0.25 -> 0.25 in 3 iterations", said, re.M) and re.search("^  finer .*misses$", said, re.M)
    assert said.splitlines()[-1] == "not reached: 50 cm left of 50 cm (wanted <= 2.0 cm)"
    slope = json.loads((tmp_path / "o/run.json").read_text())["trust_first"]["slope"]
    assert slope < 1e-15 and f"trust in the first gradient: the gradient is 0{' but for round-off' if slope > 0 else ''} (0 rollouts)" in said


def test_a_gripper_begins_at_its_pose(tmp_path):
    """Its servos hold the pose of the start, where the egg touches the floor: a contact model that allows no touch replays it a micrometre above."""
    text = (ROOT / "samples/gripper_lift.yaml").read_text().replace("model: ", f"model: {ROOT}/samples/").replace(", attempts: 4", "")
    (tmp_path / "lift.yaml").write_text(text)
    said = run("optimize", tmp_path / "lift.yaml", "--iterations", 1, "--no-replay", "--no-trust", "--out", tmp_path / "o", code=3).stderr
    assert "Where nothing is found" in said.splitlines()[-2]
    told = json.loads((tmp_path / "o/run.json").read_text())
    assert {row["name"]: row["verdict"] for row in told["verification"]} == {"finer": "misses", "lcp": "misses", "toi": "misses"}
    first = numpy.load(tmp_path / "o/trajectory.npz")["qpos_first"]
    assert abs(first[:20, 0] + 0.26).max() < 0.1      # it does not go to 0


def test_two_runs_do_not_write_one_folder(tmp_path):
    args = ["optimize", TASK, "--method", "adam", "--iterations", "10000", "--no-replay", "--out", str(tmp_path)]
    first = subprocess.Popen([EXE, *args], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (tmp_path / "checkpoint").exists() or (tmp_path / "checkpoint").stat().st_size < 1000:
            assert first.poll() is None
            time.sleep(0.01)
        for more in ("--resume", "--overwrite"):
            said = run(*args, more, code=2).stderr
            assert f"process {first.pid}" in said and "checkpoint" in said
    finally:
        first.kill()
        first.wait()


def test_interrupt_then_resume(tmp_path):
    task = one_stage(tmp_path)
    whole = json.loads(run("optimize", task, "--iterations", 200, "--out", tmp_path / "w", "--no-replay", "--json").stdout)
    before, ticks = resource.getrusage(resource.RUSAGE_CHILDREN), os.sysconf("SC_CLK_TCK")
    p = subprocess.Popen([EXE, "optimize", task, "--iterations", "200", "--out", tmp_path / "p", "--no-replay"], cwd=ROOT,
                         stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "p" / "checkpoint"
    while not journal.exists() or journal.stat().st_size < (tmp_path / "w" / "checkpoint").stat().st_size / 4:
        assert p.poll() is None
        time.sleep(0.01)
    used = pathlib.Path(f"/proc/{p.pid}/stat").read_text().rpartition(")")[2].split()
    used = (int(used[11]) + int(used[12])) / ticks
    p.send_signal(signal.SIGINT)
    p.wait(timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert p.returncode == 130, p.stderr.read()
    # of the processor, however many others it has to serve
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - used < 1.0
    assert (tmp_path / "p" / "trajectory.npz").exists() and journal.exists()
    rest = json.loads(run("optimize", task, "--iterations", 200, "--out", tmp_path / "p", "--no-replay", "--json", "--resume").stdout)
    assert rest["best_loss"] == whole["best_loss"]
    x = [numpy.load(tmp_path / f / "trajectory.npz")["variables"] for f in "wp"]
    assert numpy.array_equal(*x)


def test_interrupted_in_a_later_stage(tmp_path):
    """It leaves the best of the stages that ended, with its replays, and goes on in the stage that was cut off, to the bits of a run that nothing disturbed."""
    text = (ROOT / TASK).read_text().replace("model: ", f"model: {ROOT}/models/").replace("steps: 400", "steps: 60")
    task = tmp_path / "t.yaml"
    task.write_text(re.sub(r"^(refine|verify):.*\n", "", text, flags=re.M) + "verify: {rows: [finer], distance: 1.0e-9}\nrefine: [{rate: 0.5}, {rate: 0.1}]\n")
    args = ["optimize", task, "--iterations", 200, "--no-replay", "--no-trust", "--out"]
    whole = json.loads(run(*args, tmp_path / "w", "--json", code=3).stdout)
    p = subprocess.Popen([EXE, *map(str, args), tmp_path / "p"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "p/checkpoint.1"
    while not journal.exists() or journal.stat().st_size < (tmp_path / "w/checkpoint.1").stat().st_size / 4:
        assert p.poll() is None, p.stderr.read()
        time.sleep(0.005)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=20)[1]
    assert p.returncode == 130 and "interrupted after iteration" in said
    left = json.loads((tmp_path / "p/run.json").read_text())
    assert left["status"] == "cancelled by the caller" and 200 < left["iterations"] < 400 and not (tmp_path / "p/checkpoint.2").exists()
    assert "stage" not in left and [r["name"] for r in left["verification"]] == ["finer"] and left["verification"][0]["verdict"] in ("misses", "ends early")
    assert json.loads(run(*args, tmp_path / "p", "--json", "--resume", code=3).stdout)["best_loss"] == whole["best_loss"]
    assert numpy.array_equal(*(numpy.load(tmp_path / f / "trajectory.npz")["variables"] for f in "wp"))


def test_what_is_refused_to_resume_stays(tmp_path):
    """the first stage's journal is taken up, the second stage is another's: the finished run's files stay as they are"""
    text = (ROOT / TASK).read_text().replace("model: ", f"model: {ROOT}/models/").replace("steps: 400", "steps: 40")
    task, out = tmp_path / "t.yaml", tmp_path / "out"
    task.write_text(text.replace("iterations: 60", "iterations: 2"))
    run("optimize", task, "--iterations", 2, "--out", out, "--no-replay", "--no-trust", code=3)
    kept = {f.name: f.read_bytes() for f in out.iterdir()}
    coarser = task.read_text().replace("timestep: 0.0005, ", "timestep: 0.001, ")
    assert coarser != task.read_text()
    task.write_text(coarser)
    said = run("optimize", task, "--iterations", 2, "--out", out, "--no-replay", "--no-trust", "--resume", code=2).stderr
    assert "journal of another task" in said
    assert {f.name: f.read_bytes() for f in out.iterdir()} == kept


def begun(tmp_path, **more):
    """An optimisation that would take minutes, some iterations on its way."""
    p = subprocess.Popen([EXE, "optimize", one_stage(tmp_path), "--method", "adam", "--iterations", "100000", "--out", tmp_path / "p", "--no-replay"], cwd=ROOT, stderr=subprocess.PIPE, text=True, **more)
    while not (tmp_path / "p/checkpoint").exists() or (tmp_path / "p/checkpoint").stat().st_size < 20000:
        assert p.poll() is None, p.stderr.read()
        time.sleep(0.005)
    return p


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGTERM"])
def test_one_signal_keeps_what_was_found(tmp_path, name):
    p = begun(tmp_path)
    p.send_signal(getattr(signal, name))
    said = p.communicate(timeout=20)[1]
    assert p.returncode == 128 + getattr(signal, name) and "interrupted after iteration" in said
    kept = json.loads((tmp_path / "p/run.json").read_text())
    assert kept["status"] == "cancelled by the caller" and (tmp_path / "p/trajectory.npz").exists()


def test_two_signals_end_at_once(tmp_path):
    """Both come while the program is stopped, so that it meets the second before it can have ended by the first."""
    p = begun(tmp_path)
    for signum in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
        p.send_signal(signum)
    said = p.communicate(timeout=20)[1]
    assert p.returncode in (130, 143) and "interrupted after" not in said
    assert not (tmp_path / "p/run.json").exists()


def test_nohup_stays(tmp_path):
    p = begun(tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    before = (tmp_path / "p/checkpoint").stat().st_size
    p.send_signal(signal.SIGHUP)
    while (tmp_path / "p/checkpoint").stat().st_size < before + 20000:
        assert p.poll() is None, "it ended by a signal that it was started to ignore"
        time.sleep(0.005)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=20)
    assert p.returncode == 143


def test_without_the_page_a_run_is_kept(tmp_path, monkeypatch):
    page = tmp_path / "viewer.html"
    monkeypatch.setenv("TANGERE_VIEWER", str(page))
    p = subprocess.Popen([EXE, "optimize", TASK, "--iterations", "3000", "--out", tmp_path / "p"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=20)[1]
    assert p.returncode == 130 and f"viewer {page} is not there" in said
    kept = json.loads((tmp_path / "p" / "run.json").read_text())
    assert kept["status"] == "cancelled by the caller" and kept["iterations"] > 0 and not (tmp_path / "p" / "replay.html").exists()
    assert "is not there" in run("optimize", TASK, "--iterations", 2, "--out", tmp_path / "o", code=4).stderr
    assert "is not there" in run("simulate", MODEL, "--steps", 2, "--out", tmp_path / "s", code=4).stderr
    # when the page is there, it is made of what was kept
    page.write_text('<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>')
    for folder in "pos":
        run("replay", tmp_path / folder)
        assert (tmp_path / folder / "replay.html").exists()


def test_activations_and_their_gradients_stand_in_the_trajectory(tmp_path):
    """A cart pushed by a filtered motor without any contact: what its steps are, and so every gradient, is known."""
    (tmp_path / "cart.xml").write_text("""<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/>
        <geom size='.1' mass='2'/></body></worldbody><actuator><general joint='rail' dyntype='filter' dynprm='.05' gainprm='3'/></actuator></mujoco>""")
    (tmp_path / "cart.yaml").write_text("""{model: cart.xml, contact: lcp, horizon: {steps: 20}, controls: {every: 20}, verify: {rows: [finer]},
        losses: [{term: body_position, name: cart, target: [1, 0, 0], axes: x, weight: 1, at: end}], effort: off, optimizer: {method: lbfgs, iterations: 2}}""")
    run("optimize", tmp_path / "cart.yaml", "--out", tmp_path / "o")
    with numpy.load(tmp_path / "o" / "trajectory.npz") as npz:
        t = {k: npz[k] for k in npz if npz[k].ndim}
    (u,), h, tau, push = t["variables"], 0.01, 0.05, 3 / 2
    x, v, a = 0, 0, 0
    for i in range(21):
        assert (t["qpos_best"][i, 0], t["qvel_best"][i, 0], t["act_best"][i, 0]) == pytest.approx((x, v, a), rel=1e-12, abs=1e-15)
        v += h * push * a
        x += h * v
        a += h / tau * (u - a)
    gx, gv, ga = 2 * (t["qpos_best"][20, 0] - 1), 0, 0
    for i in range(20, -1, -1):
        told = [t[f"grad_{k}_best"][i, 0] for k in ("qpos", "qvel", "act")] + [t["push_best"][i, 1, 0]]
        assert told == pytest.approx([gx, gv, ga, gv / 2], rel=1e-9, abs=1e-15)
        if i > 0:
            assert t["grad_ctrl_best"][i - 1, 0] == pytest.approx(h / tau * ga, rel=1e-9, abs=1e-15)
        gv += h * gx                      # of the velocity that moves it
        ga = (1 - h / tau) * ga + h * push * gv
    h /= 8                                # the replay in finer steps
    v, a = 0, 0
    for i in range(21):
        assert (t["qvel_finer"][i, 0], t["act_finer"][i, 0]) == pytest.approx((v, a), rel=1e-9, abs=1e-15)
        for _ in range(8):
            v, a = v + h * push * a, a + h / tau * (u - a)


def test_adam_takes_the_steps_of_its_formula(tmp_path):
    """A cart under one control has a parabola for its loss: its gradient is known, and with it each step (Kingma and Ba, algorithm 1)."""
    (tmp_path / "cart.xml").write_text("""<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>
        <geom size='.1' mass='2'/></body></worldbody><actuator><motor joint='rail'/></actuator></mujoco>""")
    (tmp_path / "cart.yaml").write_text("""{model: cart.xml, contact: lcp, horizon: {steps: 20}, controls: {every: 20}, verify: {rows: [none]},
        losses: [{term: body_position, name: cart, target: [1, 0, 0], axes: x, weight: 1, at: end}],
        effort: off, optimizer: {method: adam, iterations: 4, rate: 3, decay: 0.9, beta1: 0.7, beta2: 0.95}}""")
    run("optimize", tmp_path / "cart.yaml", "--out", tmp_path / "o")
    with numpy.load(tmp_path / "o" / "trajectory.npz") as npz:
        losses, (best,) = npz["loss"], npz["variables"]
    way = sum(20 - i for i in range(20)) * 0.01**2 / 2         # the cart's, by a control of 1
    x, m, s, rate, want = 0, 0, 0, 3, []
    for k in range(1, 6):
        want.append((x * way - 1) ** 2)
        last, g = x, 2 * way * (x * way - 1)
        m, s = 0.7 * m + 0.3 * g, 0.95 * s + 0.05 * g * g
        x, rate = x - rate * (m / (1 - 0.7**k)) / ((s / (1 - 0.95**k)) ** 0.5 + 1e-8), rate * 0.9
    assert losses.tolist() == pytest.approx(want[:len(losses)], rel=1e-9) and len(losses) >= 4
    assert (best * way - 1) ** 2 == pytest.approx(losses.min(), rel=1e-9)


def test_random_search_tries_as_many_as_it_says(tmp_path):
    """One generation about the start, which is far from the one control that leaves nothing: of 63 others one is near, of one not."""
    (tmp_path / "cart.xml").write_text("""<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>
        <geom size='.1' mass='2'/></body></worldbody><actuator><motor joint='rail'/></actuator></mujoco>""")
    (tmp_path / "cart.yaml").write_text("""{model: cart.xml, contact: lcp, horizon: {steps: 20}, controls: {every: 20}, verify: {rows: [none]},
        losses: [{term: body_position, name: cart, target: [1, 0, 0], axes: x, weight: 1, at: end}],
        optimizer: {method: random, iterations: 1, population: 64, sigma: 60}}""")
    assert "the motion is that of" not in run("optimize", tmp_path / "cart.yaml", "--out", tmp_path / "o").stderr   # there is one start
    with numpy.load(tmp_path / "o" / "trajectory.npz") as npz:
        (best,), first = npz["variables"], npz["qpos_first"]
    assert abs(best - 1 / 0.0105) < 10 and not first.any()


def test_progress_on_a_terminal(tmp_path):
    """One line, drawn again and again: a bar of 24 signs, as full as the iterations say."""
    here, there = pty.openpty()
    p = subprocess.Popen([EXE, "optimize", one_stage(tmp_path), "--iterations", "3", "--no-replay"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=there)
    os.close(there)
    told = b""
    try:
        while some := os.read(here, 4096):
            told += some
    except OSError:       # the other end is closed
        pass
    os.close(here)
    p.wait()
    bars = re.findall(r"\r[^\r\n]*?\[([#.]*)\] (\d+)/(\d+) ", told.decode())
    assert bars and bars[-1] == ("#" * 24, "3", "3")
    for bar, i, n in bars:
        assert bar == "#" * (24 * int(i) // int(n)) + "." * (24 - 24 * int(i) // int(n))


def test_batch_has_the_same_bits_on_any_number_of_threads():
    bits = {json.loads(run("batch", TASK, "--count", 8, "--threads", n, "--json").stdout)["bits"] for n in (1, 2, 3, 8)}
    assert len(bits) == 1


def test_unwritable_journal(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    assert "checkpoint" in run("optimize", TASK, "--out", tmp_path, code=2).stderr
