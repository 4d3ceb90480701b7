#!/usr/bin/env python3
"""Runs the tasks of models/tasks, several seeds each: start and target are drawn by seed, the motion is found, and its replays judge it.

usage: tools/suite.py [--tasks a,b] [--seeds 5] [--jobs N] [--seconds 300] [--out build/suite] [--baseline lcp|softmin|cem|mujoco|first|zeroth|mixed] [--tangere PATH]

Needs Python's standard library and the program `tangere` alone, so that a machine with an installed package and this folder's models runs it. Run by a
Python that has the packages tangere and mujoco, it replays every motion in MuJoCo too, tells how far its gradient may be trusted, and knows the baseline
`mujoco`. What is finished is skipped, what was
cut off goes on from its journal. The table is written after every run: OUT/suite.json and OUT/suite.md.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TASKS = ROOT / "models/tasks"
GRACE = 60                 # seconds that an interrupted run has to write its best
FINAL = (0, 3, "time")     # ends of a run: reached, missed, out of time; after any other it is taken up again
SMOOTHED = ("first", "zeroth", "mixed")   # by gradient under `lcp`, smoothed over POPULATION motions
POPULATION = 8
UNDER_LCP = ("cem", "mujoco", *SMOOTHED)   # baselines whose task file is under `lcp`
SKETCH = ROOT / "tools/suite_mujoco.py"
stopped = threading.Event()   # by Ctrl-C or a signal to end: what runs writes what it has

# What a seed draws: added to an entry of the task file, uniform in +-spread (or in a range (low, high)), the same value at all places of a row. A place is "start JOINT ENTRY", of the
# position of that joint under `start`, or "target NAME ENTRY", of every loss on that name, or "model", which is put in place. A list instead of a spread: the values of seeds 1, 2, .. in turn. What cannot be told so is a
# function of a random generator and the seed; it returns the places and what is added.
# seeds of push_far in turn: the angle at which the target lies as seen from the box (None: any), its distance (None: about 0.8 m), the model
PUSHES = [(0, None, "push_far"), (90, None, "push_far"), (180, None, "push_far"), (0, 2.8, "push_far"), (None, None, "push_far"),
          (0, None, "push_far_heavy"), (0, None, "push_far_tee"), (None, None, "push_far_heavy"), (None, None, "push_far_tee"), (180, 2.0, "push_far")]


def push_far(rng, seed):
    """The plate stands on the side of +x. The box shows the target a face, and the plate's place behind the box follows."""
    degrees, far, model = PUSHES[(seed - 1) % len(PUSHES)]
    anywhere = rng.choice((-1, 1)) * rng.uniform(0.6, 2.4)
    angle = (anywhere if degrees is None else math.radians(degrees)) + rng.uniform(-0.15, 0.15)
    far, behind = far or rng.uniform(0.7, 0.9), 0.28
    return {"target box 0": far * math.cos(angle) - 0.8, "target box 1": far * math.sin(angle), "start box 3": math.cos(angle / 2) - 1, "start box 6": math.sin(angle / 2),
            "start plate_y 0": rng.uniform(-0.05, 0.05), "target plate_x 0": behind * (1 - math.cos(angle)), "target plate_y 0": -behind * math.sin(angle),
            "target plate_turn 0": math.remainder(angle, math.pi), "model": model + ".xml"}


def in_hand(rng, seed):
    """The mark goes 1.4 to 2 cm into any direction; the ball comes down from up to 3 mm."""
    angle, far = rng.uniform(-math.pi, math.pi), rng.uniform(0.014, 0.02)
    return {"target mark 0": far * math.cos(angle) - 0.02, "target mark 1": far * math.sin(angle), "start ball 2": rng.uniform(0, 0.003)}


DRAWS = {
    "peg": [(0.015, ["start x 0"]), (0.015, ["start z 0"]), (0.05, ["start tilt 0"]), (["peg.xml", "peg_loose.xml"], ["model"])],
    "pinch": [(0.01, ["start box 0", "target box 0"]), (0.04, ["target box 2"])],
    "pivot": [(0.08, ["start box 0", "target top 0", "target front 0"]), (0.05, ["start finger_x 0"]), (0.06, ["start finger_z 0"])],
    "push_far": push_far,
    "reach_round": [(0.03, ["start box 0", "target box 0"]), (0.04, ["start box 1", "target box 1"]), (0.08, ["start box 6"]), (0.04, ["target box 0"])],
    "slide": [(0.05, ["start box 0"]), (0.25, ["target box 0"])],
    "ball_in_cup": [(0.2, ["start s0 0"])],
    "humanoid_jump": [(0.1, ["target pelvis 0", "target chest 0", "target left_sole 0", "target right_sole 0"]), ((0, 0.01), ["start root 2"])],
    "in_hand": in_hand,
    "pancake_flip": [(0.02, ["start pancake 0"]), (0.05, ["target middle 2", "target upper_face 2", "target blade 2"])],
    "quadruped_jump": [(0.1, ["target middle 0", "target fl_foot 0", "target hr_foot 0"]), ((0, 0.02), ["start root 2"])],
    "throw": [(0.3, ["start bin_x 0", "target ball 0"]), (0.01, ["start ball 0"])],
}


def draw(name, seed):
    """The places of a task and what seed adds to each. Each row has numbers of its own, so that a new row does not change the others."""
    rows, added = DRAWS.get(name, []), {}
    if callable(rows):
        return rows(random.Random(f"{name} {seed}"), seed)
    for row, (spread, places) in enumerate(rows):
        value = random.Random(f"{name} {row} {seed}").uniform
        if isinstance(spread, list):
            value = spread[(seed - 1) % len(spread)]
        else:
            value = value(*spread) if isinstance(spread, tuple) else value(-spread, spread)
        for place in places:
            added[place] = value if isinstance(value, str) else added.get(place, 0) + value
    return added


def shift(text, place, value):
    """The task's text with value added at place; an error where the file has no such place."""
    if place == "model":
        return re.sub(r"^model: *\S+", f"model: {value}", text, flags=re.M)
    kind, name, entry = place.split()
    before = r"\{joint: %s, position: \[" if kind == "start" else r"name: %s, target: \["
    found = 0

    def moved(match):
        nonlocal found
        numbers = match[2].split(",")
        numbers[int(entry)] = f"{float(numbers[int(entry)]) + value:.6g}"
        found += 1
        return match[1] + ", ".join(n.strip() for n in numbers) + "]"
    text = re.sub("(" + before % re.escape(name) + r")([^\]]*)\]", moved, text)
    if not found:
        raise SystemExit(f"the task has no place '{place}'")
    return text


def without(text, field):
    return re.sub(rf"^{field}:.*\n(?:[ #].*\n|\n)*", "", text, flags=re.M)


def setting(text, field, key, value):
    """key of the mapping `field`, which is in braces, set to value."""
    block = re.search(rf"^{field}: *\{{([^}}]*)\}}", text, re.M)
    inside, count = re.subn(rf"\b{key}: *[^,}}]+", f"{key}: {value}", block[1])
    if not count:
        inside += f", {key}: {value}"
    return text[:block.start(1)] + inside + text[block.end(1):]


def number(text, field, key, default):
    block = re.search(rf"^{field}: *\{{([^}}]*)\}}", text, re.M)
    found = re.search(rf"\b{key}: *([-+.\deE]+)", block[1]) if block else None
    return float(found[1]) if found else default


def as_baseline(text, baseline, simulations):
    """The task by gradient under one contact model alone, or by sampling under `lcp`, with as many simulations as the task itself took. For `mujoco` it is the task by gradient under `lcp`,
    whose losses, rate and replays tools/suite_mujoco.py takes; `first`, `zeroth`, `mixed` are by smoothed gradients under `lcp`, an iteration POPULATION + 1 simulations."""
    rate = re.search(r"^ +- \{.*?rate: *([-+.\deE]+)", text, re.M)      # of the first stage that has one
    text = re.sub(r", stage: \d+", "", without(text, "refine"))
    text = re.sub(r"^contact: .*", f"contact: {baseline if baseline not in UNDER_LCP else 'lcp'}", without(text, "gradient"), flags=re.M)
    text = re.sub(r", (gradient|smoothing|starts|attempts): \w+", "", text)
    text = re.sub(r", cone\]", "]", text)   # which asks for the stages that a baseline has not
    each = 1
    if baseline == "cem":
        text = without(text, "receding")
        text = setting(setting(setting(text, "optimizer", "method", "cem"), "optimizer", "population", 32), "optimizer", "elites", 4)
        each = 32
    elif re.search(r"^optimizer:.*method: *(cem|random)\b", text, re.M):
        text = re.sub(r", (population|elites|keep|sigma|decay|correlation|momentum): [-+.\deE]+", "", setting(text, "optimizer", "method", "adam"))
        text = setting(text, "optimizer", "rate", rate[1] if rate else 0.01)
    if baseline in SMOOTHED:
        text = setting(setting(setting(text, "optimizer", "method", "adam"), "optimizer", "smoothing", baseline), "optimizer", "population", POPULATION)
        if number(text, "optimizer", "rate", 0) == 0:
            text = setting(text, "optimizer", "rate", rate[1] if rate else 0.01)
    if "\nreceding:" in text:
        each *= number(text, "horizon", "steps", 1) / number(text, "receding", "apply", 1)
    elif number(text, "optimizer", "population", 0) > 0:
        each = number(text, "optimizer", "population", 1) + (baseline in SMOOTHED)
    return setting(text, "optimizer", "iterations", max(1, math.ceil(simulations / each)))


def drawn(name, seed):
    """The task's text as the seed draws it."""
    text = (TASKS / f"{name}.yaml").read_text()
    for place, value in draw(name, seed).items():
        text = shift(text, place, value)
    return text


def pushes():
    """The ten layouts of push_far as files of their own, name and text, which `tangere reproduce BA-R4` takes from models/tasks/pushes."""
    for seed in range(1, len(PUSHES) + 1):
        says = f"# push_far.yaml as seed {seed} of tools/suite.py draws it; written by tools/suite.py --write-pushes.\n"
        text = re.sub(r"^(# .*\n)+", says, drawn("push_far", seed), count=1)
        yield f"{seed}.yaml", re.sub(r"^model: ", "model: ../", text, flags=re.M)


def write_pushes():
    (TASKS / "pushes").mkdir(exist_ok=True)
    for name, text in pushes():
        (TASKS / "pushes" / name).write_text(text)


def task_text(name, seed, baseline, simulations):
    text = drawn(name, seed)
    if baseline:
        text = as_baseline(text, baseline, simulations)
    model = re.search(r"^model: *(\S+)", text, re.M)
    return text[:model.start(1)] + str((TASKS / model[1]).resolve()) + text[model.end(1):]


def write(path, text):
    """A file that other threads, and a run that goes on later, see whole or not at all. text: or what is written as JSON."""
    part = path.with_suffix(path.suffix + ".part")
    part.write_text(text if isinstance(text, str) else json.dumps(text))
    part.replace(path)


class Run:
    """One task, one seed: its folder, and what came out."""

    def __init__(self, name, seed, options):
        self.name, self.seed, self.options = name, seed, options
        self.folder = options.out / name / (f"{options.baseline}_{seed}" if options.baseline else str(seed))
        self.state = self.folder / "state.json"

    def done(self):
        return self.state.exists() and json.loads(self.state.read_text()).get("code") in FINAL

    def simulations(self):
        """Of the task itself with this seed, which a baseline gets too; None before that has ended, as a run's files are there while it goes on."""
        own = self.options.out / self.name / str(self.seed)
        state, run = own / "state.json", own / "run/run.json"
        ended = state.exists() and json.loads(state.read_text()).get("code") in FINAL and run.exists()
        return json.loads(run.read_text())["simulations"] if ended else None

    def go(self):
        if stopped.is_set():
            return None
        count = self.simulations() if self.options.baseline else None
        if self.options.baseline and count is None:
            return f"{self.name} {self.seed}: run the task itself first, a baseline takes as many simulations"
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "task.yaml").write_text(task_text(self.name, self.seed, self.options.baseline, count))
        spent = json.loads(self.state.read_text())["seconds"] if self.state.exists() else 0
        known = spent > 0 and (self.folder / "run/checkpoint").exists()
        words = self.words(count, known)
        began = time.monotonic()
        with open(self.folder / "log.txt", "a") as log:
            child = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            code = None
            while code is None:
                try:
                    code = child.wait(timeout=max(0.1, min(2, self.options.seconds - spent - (time.monotonic() - began))))
                except subprocess.TimeoutExpired:
                    seconds = spent + time.monotonic() - began
                    write(self.state, {"seconds": seconds})
                    if stopped.is_set():
                        self.stop(child)
                        return f"{self.name} {self.seed}: stopped after {seconds:.0f} s"
                    if seconds >= self.options.seconds:
                        code = self.stop(child)
        write(self.state, {"seconds": spent + time.monotonic() - began, "code": code})
        self.elsewhere()
        return f"{self.name} {self.seed}: {self.result()['outcome']}"

    def words(self, simulations, known):
        """The command of the run; known: it goes on from a journal."""
        if self.options.baseline == "mujoco":
            text = (self.folder / "task.yaml").read_text()
            return [sys.executable, SKETCH, self.folder / "task.yaml", "--simulations", simulations, "--rate", number(text, "optimizer", "rate", 0.01), "--seed", self.seed,
                    "--out", self.folder / "run"]
        return [self.options.tangere, "optimize", self.folder / "task.yaml", "--seed", self.seed, "--threads", 1, "--out", self.folder / "run", "--no-trust",
                *(["--resume"] if known else ["--overwrite"])]

    def elsewhere(self):
        """The row of MuJoCo, of the motion as it was found, once for each run: OUT/TASK/SEED/mujoco.json. None without MuJoCo, or without a motion."""
        file = self.folder / "mujoco.json"
        if file.exists():
            return json.loads(file.read_text())
        if self.options.baseline or not (self.folder / "run/trajectory.npz").exists():
            return None
        try:
            import tangere.mujoco
            import mujoco  # noqa: F401
        except ImportError:
            return None
        row = tangere.mujoco.verify_run(self.folder / "run")
        row = {"what": row["what"], "verdict": row["verdict"], "reason": row["reason"], "distance_m": row["distance"] if math.isfinite(row["distance"]) else None}
        hard = tangere.mujoco.verify_run(self.folder / "run", hard=True)
        row["hard"] = {"verdict": hard["verdict"], "distance_m": hard["distance"] if math.isfinite(hard["distance"]) else None}
        row["trust"] = self.trust(tangere)
        write(file, row)
        return row

    def trust(self, tangere):
        """Of the first stage's gradient at the motion found: by which share of the boxes' length the variables may change along it (`range` over the norm of their boxes), the adjoint's
        growth a step, its label."""
        import numpy
        task = tangere.Task(self.folder / "task.yaml")
        with numpy.load(self.folder / "run/trajectory.npz", allow_pickle=False) as kept:
            told = task.trust(kept["variables"], seed=self.seed)
        box = math.hypot(*(high - low for low, high in task.bounds))
        return {"range": told["range"], "share": told["range"] / box if math.isfinite(box) else None, "growth": told["growth"], "label": told["label"]}

    @staticmethod
    def stop(child):
        child.send_signal(signal.SIGINT)
        try:
            child.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return "time"

    def result(self):
        state = json.loads(self.state.read_text())
        file = self.folder / "run/run.json"
        run = json.loads(file.read_text()) if file.exists() else {}
        rows = [r for r in run.get("verification", []) if r["required"]]
        broken = next((r for r in rows if r["verdict"] != "holds"), None)
        left = max((r["distance_m"] for r in rows if "distance_m" in r), default=None)
        reached = state["code"] == 0 and bool(run.get("reached"))
        if reached:
            outcome = "reached"
        elif state["code"] == "time":
            reached = bool(run.get("reached"))
            outcome = "reached" if reached else "out of time"
        elif state["code"] not in (0, 3) or not run:
            outcome = f"exit {state['code']}"
        elif not run.get("met"):
            outcome = "not found"
        else:
            outcome = f"{broken['name']} {broken['verdict']}" if broken else "not reached"
        return {"task": self.name, "seed": self.seed, "reached": reached, "outcome": outcome, "seconds": state["seconds"], "code": state["code"],
                "found_m": run.get("distance_m"), "worst_replay_m": left, "contact": run.get("contact"), "stage": run.get("stage", 0), "start": run.get("start", 0), "attempt": run.get("attempt", 0),
                "simulations": run.get("simulations"), "best_loss": run.get("best_loss"), "mujoco": self.elsewhere(), "draw": draw(self.name, self.seed),
                "rows": [{k: r.get(k) for k in ("name", "what", "verdict", "required", "distance_m", "loss", "reason")} for r in run.get("verification", [])]}


def contacts(name, baseline):
    """The contact models that a task goes through."""
    if baseline:
        return "lcp" if baseline in ("cem", *SMOOTHED) else baseline
    text = (TASKS / f"{name}.yaml").read_text()
    words = re.findall(r"^contact: *(\w+)", text, re.M) + re.findall(r"^  - \{.*?contact: *(\w+)", text, re.M)
    return " → ".join(w for i, w in enumerate(words) if i == 0 or w != words[i - 1])


def centimetres(value):
    return "-" if value is None else f"{100 * value:.2g} cm" if value < 100 else "far"


def elsewhere(reached):
    """Of the motions reached, how many hold in MuJoCo by the task's own criterion, and what those that it can express leave, from least to most; the same in its hardest contact."""
    rows = [r["mujoco"] for r in reached if r["mujoco"]]
    said = sorted(r["distance_m"] for r in rows if r["distance_m"] is not None)
    if not said:
        return rows[0]["reason"] or rows[0]["verdict"] if rows else "-"
    hard = [r["hard"] for r in rows if r.get("hard")]
    harder = f"; hard: {sum(r['verdict'] == 'holds' for r in hard)}; {', '.join(centimetres(r['distance_m']) for r in hard)}" if hard else ""
    return f"{sum(r['verdict'] == 'holds' for r in rows)} of {len(rows)} hold; {', '.join(centimetres(d) for d in said)}{harder}"


def trusted(reached):
    """Of the motions reached: the range of their gradients, as a share of the variables' boxes, and the adjoint's growth a step, both from least to most."""
    told = [r["mujoco"]["trust"] for r in reached if r["mujoco"] and r["mujoco"].get("trust")]
    if not told:
        return "-"
    share, growth = sorted(t["share"] or 0 for t in told), sorted(t["growth"] for t in told)
    return f"{share[0]:.1g} to {share[-1]:.1g}, growth {growth[0]:.3g} to {growth[-1]:.3g}"


def write_tables(names, seeds, options):
    results, lines = [], ["| task | reached | median time | worst replay of those reached | in MuJoCo | trust | contact models | not reached |", "|---|---|---|---|---|---|---|---|"]
    for name in names:
        runs = [r for r in (Run(name, s, options) for s in seeds) if r.done()]
        those = [r.result() for r in runs]
        results += those
        good = [r for r in those if r["reached"]]
        missed = {}
        for r in those:
            if not r["reached"]:
                missed.setdefault(r["outcome"], []).append(f"{r['seed']} ({centimetres(r['worst_replay_m'] if r['worst_replay_m'] is not None else r['found_m'])})")
        worst = max((r["worst_replay_m"] for r in good if r["worst_replay_m"] is not None), default=None)
        lines.append(f"| `{name}` | {len(good)} of {len(those)} | {statistics.median(r['seconds'] for r in those):.0f} s | {centimetres(worst)} | {elsewhere(good)} | {trusted(good)} | {contacts(name, options.baseline)} | "
                     f"{'; '.join(f'{k}: seed {chr(44).join(chr(32) + s for s in v).strip()}' for k, v in missed.items())} |" if those else f"| `{name}` | not run | | | | | | |")
    kind = f"_{options.baseline}" if options.baseline else ""
    for file, text in ((f"suite{kind}.json", json.dumps({"seconds": options.seconds, "machine_cores": os.cpu_count(), "runs": results}, indent=1)), (f"suite{kind}.md", "\n".join(lines) + "\n")):
        write(options.out / file, text + ("" if text.endswith("\n") else "\n"))
    return "\n".join(lines)


def numbers(text):
    """The seeds that --seeds asks for, each once: `3` is 1 to 3, `1,4` these, `4,` this one."""
    return list(dict.fromkeys(int(s) for s in text.split(",") if s)) if "," in text else list(range(1, int(text) + 1))


def arguments(words):
    known = sorted(p.stem for p in TASKS.glob("*.yaml"))
    built = ROOT / "build/bin/tangere"
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--tasks", default=",".join(known), help="names, separated by commas")
    a.add_argument("--seeds", default="5", help="how many, from 1 on; or which: 1,4,9, and 4, for one")
    a.add_argument("--jobs", type=int, default=1, help="runs at once, each of one thread")
    a.add_argument("--seconds", type=float, default=300, help="the most that a run may take")
    a.add_argument("--out", type=pathlib.Path, default=ROOT / "build/suite")
    a.add_argument("--baseline", choices=("lcp", "softmin", "cem", "mujoco", *SMOOTHED), help="the same tasks under that alone, by differences in MuJoCo or by smoothed gradients, after the tasks themselves")
    a.add_argument("--write-pushes", action="store_true", help="only write models/tasks/pushes anew")
    a.add_argument("--tangere", default=str(built) if built.exists() else shutil.which("tangere"), help="the program")
    options = a.parse_args(words)
    names = [n for n in options.tasks.split(",") if n]
    for n in names:
        if n not in known:
            a.error(f"there is no task '{n}'; known are {', '.join(known)}")
    if not options.tangere or not shutil.which(options.tangere):
        a.error("give the program with --tangere PATH; it is neither built here nor in PATH")
    seeds = numbers(options.seeds)
    options.out = options.out.resolve()
    return options, names, seeds


def main(words):
    options, names, seeds = arguments(words)
    if options.write_pushes:
        write_pushes()
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: stopped.set())
    runs = [Run(n, s, options) for s in seeds for n in names]
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        waiting = [pool.submit(r.go) for r in runs if not r.done()]
        for one in concurrent.futures.as_completed(waiting):
            if one.result() is not None:
                print(one.result(), flush=True)
                write_tables(names, seeds, options)
    print(write_tables(names, seeds, options))
    return 130 if stopped.is_set() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
