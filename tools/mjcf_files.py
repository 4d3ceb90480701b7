#!/usr/bin/env python3
"""usage: mjcf_files.py [--run] [--write] FOLDER ...

Loads every MJCF file below the folders (site-packages of a Python that has dm_control, gymnasium, robosuite, metaworld, ...) that MuJoCo loads and that has a
body, as it is and, where that is refused, without what the refusals name (drop); compares inverse dynamics with MuJoCo's, constraints, springs and dampers off, at random states. Prints a table by package
and what is refused. --run: instead, files with actuators, 300 steps of the file's size from its first keyframe, or from where it is drawn, under `lcp` and
in MuJoCo, and 300 more under random controls; who ends. --write: renews the table in docs/mjcf.md. Needs tangere and mujoco."""
import collections
import concurrent.futures
import json
import pathlib
import re
import resource
import signal
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/mjcf.md"
START, END = "<!-- made by tools/mjcf_files.py -->\n", "<!-- end -->\n"
RUN_START, RUN_END = "<!-- made by tools/mjcf_files.py --run -->\n", "<!-- end of runs -->\n"
LIMIT = 120   # seconds of processor time for one file, which other programs do not shorten


def models(folder):
    """Paths of files that stand for a model: they have bodies, or include what has."""
    for path in sorted(folder.rglob("*.xml")):
        text = path.read_text(errors="replace")
        if re.search(r"<mujoco\b", text) and re.search(r"<(body|include)\b", text):
            yield path


# ---- one file, in a process of its own

def difference(model, m):
    """The largest difference of inverse dynamics from MuJoCo's over five states, over its size."""
    import mujoco
    import numpy as np
    import tangere as tg
    if model.nv == 0:
        return 0.0
    off = mujoco.mjtDisableBit   # springs and dampers too: some are 1e11, of which the sum below would keep no digits
    m.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_SPRING | off.mjDSBL_DAMPER
    d, sim, rng, worst = mujoco.MjData(m), tg.Sim(model, contact=None), np.random.default_rng(1), 0.0
    for _ in range(5):
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 1.0)
        d.qvel[:], d.qacc[:] = rng.normal(size=m.nv), rng.normal(size=m.nv)
        mujoco.mj_inverse(m, d)
        sim.qpos[:], sim.qvel[:] = d.qpos, d.qvel
        ours = sim.inverse_dynamics(d.qacc)
        theirs = d.qfrc_inverse + d.qfrc_passive
        worst = max(worst, np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))
    return float(worst)


def loaded(path):
    """The model, without what refusals name, and how it was loaded. Raises tangere.Error."""
    import tangere as tg
    out, drop = {"load": "plain"}, []
    while True:
        try:
            return tg.load(path, drop=drop), out
        except tg.Error as error:
            told = re.search(r"--drop=([a-z-]+)", str(error))
            if told is None or told[1] in drop:
                raise
            drop.append(told[1])
            out = {"load": "drop", "why": out.get("why", str(error))}


def attempt(path):
    import mujoco
    import tangere as tg
    try:
        m = mujoco.MjModel.from_xml_path(path)
    except ValueError:
        return {}
    if m.nbody < 2:
        return {}
    try:
        model, out = loaded(path)
    except tg.Error as error:
        return {"load": "refused", "why": str(error)}
    if model.nv == m.nv:   # else a body that is left out
        out["difference"] = difference(model, m)
    return out


STEPS, HOLD = 300, 10   # steps at rest and under controls, each held for HOLD


def controls(m, rng):
    import numpy as np
    low, high = np.where(m.actuator_ctrllimited[:, None], m.actuator_ctrlrange, [-1.0, 1.0]).T
    return rng.uniform(low, high)


def run_theirs(m, d):
    """The step at which MuJoCo resets a simulation that ran away; None."""
    import mujoco
    import numpy as np
    rng, w = np.random.default_rng(1), mujoco.mjtWarning
    bad = (w.mjWARN_BADQPOS, w.mjWARN_BADQVEL, w.mjWARN_BADQACC)
    for t in range(2 * STEPS):
        if t >= STEPS and t % HOLD == 0:
            d.ctrl[:] = controls(m, rng)
        mujoco.mj_step(m, d)
        if any(d.warning[kind].number for kind in bad):
            return t
    return None


def run_ours(model, m, start):
    """The step at which ours ends, with what it says; fallbacks of all steps."""
    import numpy as np
    import tangere as tg
    rng, out = np.random.default_rng(1), {"ends": None, "fallbacks": 0}
    sim = tg.Sim(model, contact="lcp")
    sim.qpos[:], sim.qvel[:] = start.qpos, start.qvel
    if m.na:
        sim.act[:] = start.act
    sim.ctrl[:] = start.ctrl
    try:
        for t in range(2 * STEPS):
            if t >= STEPS and t % HOLD == 0:
                sim.ctrl[:] = controls(m, rng)
            out["fallbacks"] += sim.step().fallback > 0
    except tg.Error as error:
        out.update(ends=t, why=str(error))
    return out


def attempt_run(path):
    import mujoco
    import tangere as tg
    try:
        m = mujoco.MjModel.from_xml_path(path)
    except ValueError:
        return {}
    if m.nu == 0 or m.nv == 0:
        return {}
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    try:
        model, _ = loaded(path)
        if (model.nq, model.nv, model.nu) != (m.nq, m.nv, m.nu):
            return {"left": "other dofs: something is left out"}
        return run_ours(model, m, d) | {"theirs": run_theirs(m, d)}
    except tg.Error as error:
        return {"left": str(error)}


def outcome(path, one="--one"):
    done = subprocess.run([sys.executable, __file__, one, str(path)], capture_output=True, text=True)
    if done.returncode == -signal.SIGXCPU:
        return {"load": "refused", "why": f"not done in {LIMIT} s"}
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"load": "refused", "why": done.stderr.strip()[-200:] or f"ended with code {done.returncode}"}


# ---- the table

def reason(text):
    """An error without names of files and elements."""
    text = re.sub(r"^\S+?: ", "", text.splitlines()[0])
    text = re.sub(r'^(\w+) "[^"]*"', r"\1", text)
    return re.sub(r"\d[\d.e+-]*( \d[\d.e+-]*)+", "..", text)


def table(found):
    lines = ["| package | files | load plainly | with `drop` | refused | largest difference |", "|---|---|---|---|---|---|"]
    total = collections.Counter()
    for package, results in found.items():
        n = collections.Counter(r["load"] for r in results)
        total.update(n)
        worst = max((r["difference"] for r in results if r["load"] == "plain" and "difference" in r), default=0)
        lines.append(f"| {package} | {len(results)} | {n['plain']} | {n['drop']} | {n['refused']} | {worst:.1e} |")
    files = sum(total.values())
    lines.append(f"| all | {files} | {total['plain']} ({100 * total['plain'] / max(files, 1):.0f} %) | {total['drop']} | {total['refused']} | |")
    why = collections.Counter(reason(r["why"]) for results in found.values() for r in results if "why" in r)
    lines += ["", "What keeps files from loading plainly, the first of each:", ""]
    lines += [f"* {n}: {text}" for text, n in why.most_common()]
    return "\n".join(lines) + "\n"


def run_table(found):
    lines = ["| package | files with actuators | not run | end in MuJoCo | end here | end here alone | steps with a fallback |",
             "|---|---|---|---|---|---|---|"]
    for package, results in [*found.items(), ("all", sum(found.values(), []))]:
        ran = [r for r in results if "ends" in r]
        ours, theirs = [r for r in ran if r["ends"] is not None], [r for r in ran if r["theirs"] is not None]
        alone = sum(r["theirs"] is None for r in ours)
        told = sum(r["fallbacks"] for r in ran)
        lines.append(f"| {package} | {len(results)} | {len(results) - len(ran)} | {len(theirs)} | {len(ours)} | {alone} | {told} |")
    lines.append("")
    for r in sum(found.values(), []):
        if "ends" not in r:
            lines.append(f"* {r['file']}: not run: {r.get('left') or r.get('why')}")
        elif r["ends"] is not None:
            lines.append(f"* {r['file']}: ends at step {r['ends']}: {r['why']}")
        elif r["fallbacks"]:
            lines.append(f"* {r['file']}: {r['fallbacks']} steps with a fallback")
    return "\n".join(line.replace("\n", " ") for line in lines) + "\n"


def main(arguments):
    if arguments[:1] in (["--one"], ["--one-run"]):
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
        print(json.dumps((attempt if arguments[0] == "--one" else attempt_run)(arguments[1])))
        return 0
    run, write = "--run" in arguments, "--write" in arguments
    folders = [pathlib.Path(a) for a in arguments if not a.startswith("--")]
    if not folders:
        print(__doc__, file=sys.stderr)
        return 1
    paths = [(path.relative_to(folder).parts[0], path) for folder in folders for path in models(folder)]
    if run:
        paths = [p for p in paths if p[0] not in ("mujoco", "tangere")]   # what this script itself needs
    found = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for k, ((package, path), result) in enumerate(zip(paths, pool.map(lambda p: outcome(p[1], "--one-run" if run else "--one"), paths))):
            print(f"\r{k + 1} of {len(paths)}", end="", file=sys.stderr, flush=True)
            if result:
                found.setdefault(package, []).append(result | {"file": f"{package}/{path.parent.name}/{path.name}"})
    print(file=sys.stderr)
    text = run_table(found) if run else table(found)
    print(text)
    start, end = (RUN_START, RUN_END) if run else (START, END)
    if write:
        page = PAGE.read_text()
        PAGE.write_text(page[:page.index(start) + len(start)] + text + page[page.index(end):])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
