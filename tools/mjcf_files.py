#!/usr/bin/env python3
"""usage: mjcf_files.py [--run | --free] [--write] [--keep=FILE] FOLDER ...

Loads every MJCF file below the folders (site-packages of a Python that has dm_control, gymnasium, robosuite, metaworld, ...) that MuJoCo loads and that has a
body, as it is and, where that is refused, without what the refusals name (drop); compares inverse dynamics with MuJoCo's, constraints, springs and dampers off, at random states. Prints a table by package
and what is refused. --run: instead, files with actuators, 300 steps of the file's size from its first keyframe, or from where it is drawn, under `lcp` and
in MuJoCo, and 300 more under random controls; who ends. --free: 500 steps from random velocities under random controls without any constraint here and in MuJoCo, by
its Euler rule; mass matrices, bias forces and inverse dynamics too. --write: renews the table in docs/mjcf.md. --keep: the outcome of
each file goes there as a line of JSON, and files that are there are not run again. Needs tangere and mujoco."""
import collections
import concurrent.futures
import json
import math
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/mjcf.md"
START, END = "<!-- made by tools/mjcf_files.py -->\n", "<!-- end -->\n"
RUN_START, RUN_END = "<!-- made by tools/mjcf_files.py --run -->\n", "<!-- end of runs -->\n"
FREE_START, FREE_END = "<!-- made by tools/mjcf_files.py --free -->\n", "<!-- end of free steps -->\n"
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


def without_refused(path, load):
    """What `load` gives without what refusals name, the words of these, and the first refusal. Raises tangere.Error."""
    import tangere as tg
    drop, why = [], None
    while True:
        try:
            return load(path, drop=drop), drop, why
        except tg.Error as error:
            told = re.search(r"--drop=([a-z-]+)", str(error))
            if told is None or told[1] in drop:
                raise
            drop.append(told[1])
            why = why or str(error)


def loaded(path):
    """The model, without what refusals name, and how it was loaded. Raises tangere.Error."""
    import tangere as tg
    model, drop, why = without_refused(path, tg.load)
    return model, {"load": "drop", "why": why} if drop else {"load": "plain"}


def theirs_of(path):
    """MuJoCo's model; None where it does not load."""
    import mujoco
    try:
        return mujoco.MjModel.from_xml_path(path)
    except ValueError:
        return None


def attempt(path):
    import tangere as tg
    m = theirs_of(path)
    if m is None or m.nbody < 2:
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
    m = theirs_of(path)
    if m is None or m.nu == 0 or m.nv == 0:
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


FREE, AWAY = 500, 1e4   # steps; m or rad from which on a motion counts as run away


def bare(path, drop):
    """The model without constraints: of a file beside it that includes it."""
    import tangere as tg
    with tempfile.NamedTemporaryFile("w", suffix=".xml", dir=pathlib.Path(path).parent) as around:
        name = pathlib.Path(path).name.replace("&", "&amp;")
        around.write(f'<mujoco><option><flag constraint="disable"/></option><include file="{name}"/></mujoco>')
        around.flush()
        return tg.load(around.name, drop=drop)


def apart(a, b):
    import numpy as np
    return float(np.abs(a - b).max(initial=0) / max(1.0, np.abs(b).max(initial=0)))


def dynamics(sim, m, d, rng):
    """Differences of mass matrix, bias and inverse dynamics over their sizes, the worst of five states; springs and dampers are off in all."""
    import mujoco
    import numpy as np
    keep, worst = int(m.opt.disableflags), dict.fromkeys(("M", "bias", "inverse"), 0.0)
    off = mujoco.mjtDisableBit
    m.opt.disableflags |= off.mjDSBL_SPRING | off.mjDSBL_DAMPER
    q0 = np.array(d.qpos)
    for _ in range(5):
        d.qpos[:] = q0
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 1.0)
        d.qvel[:], a = rng.normal(size=m.nv), rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        M, e = np.zeros((m.nv, m.nv)), np.eye(m.nv)
        for j in range(m.nv):
            mujoco.mj_mulM(m, d, M[j], e[j])
        bias = np.array(d.qfrc_bias) - d.qfrc_gravcomp
        sim.qpos[:], sim.qvel[:] = d.qpos, d.qvel
        ours = sim.inverse_dynamics(np.zeros(m.nv))
        mine = np.array([sim.inverse_dynamics(column) - ours for column in e])
        d.qacc[:] = a
        mujoco.mj_inverse(m, d)
        worst["M"] = max(worst["M"], apart(mine, M))
        worst["bias"] = max(worst["bias"], apart(ours, bias))
        worst["inverse"] = max(worst["inverse"], apart(sim.inverse_dynamics(a), d.qfrc_inverse + d.qfrc_passive))
    m.opt.disableflags = keep
    return worst


def fall(m, start, advance, state, ended=lambda: False):
    """Positions after each of FREE steps under the controls of seed 2; fewer where they run away or MuJoCo resets them."""
    import numpy as np
    rng, out = np.random.default_rng(2), []
    for t in range(FREE):
        if m.nu and t % HOLD == 0:
            start.ctrl[:] = controls(m, rng)
        advance()
        q = np.array(state())
        if not np.isfinite(q).all() or np.abs(q).max(initial=0) > AWAY or ended():
            break
        out.append(q)
    return out


def far(m, a, b):
    """The largest distance of two motions, tangent, over the size of their positions (1 at least)."""
    import mujoco
    import numpy as np
    worst, dq = 0.0, np.zeros(m.nv)
    for x, y in zip(a, b):
        mujoco.mj_differentiatePos(m, dq, 1.0, x, y)
        worst = max(worst, float(np.abs(dq).max(initial=0) / max(1.0, np.abs(y).max(initial=0))))
    return worst


def attempt_free(path):
    import mujoco
    import numpy as np
    import tangere as tg
    m = theirs_of(path)
    if m is None or m.nbody < 2:
        return {}
    try:
        model, drop, _ = without_refused(path, bare)
    except tg.Error as error:
        return {"left": str(error)}
    if drop or (model.nq, model.nv, model.nu, model.na) != (m.nq, m.nv, m.nu, m.na):
        return {"left": f"something is left out: {', '.join(drop) or 'dofs or actuators'}"}
    off = mujoco.mjtDisableBit
    m.opt.disableflags |= off.mjDSBL_CONSTRAINT
    if m.opt.integrator in (mujoco.mjtIntegrator.mjINT_IMPLICIT, mujoco.mjtIntegrator.mjINT_IMPLICITFAST):
        m.opt.disableflags &= ~int(off.mjDSBL_EULERDAMP)   # which is Euler's alone: theirs have damping at the end of a step whatever it says
    m.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    springs = bool(np.any(m.jnt_stiffness)) or bool(np.any(m.tendon_stiffness)) or bool(np.any(m.tendon_damping))
    if springs:   # Euler has damping alone at the end of a step, ours springs too, or none
        m.opt.disableflags |= off.mjDSBL_EULERDAMP
    explicit = bool(m.opt.disableflags & off.mjDSBL_EULERDAMP)
    theirs, rng = mujoco.MjData(m), np.random.default_rng(1)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, theirs, 0)
    theirs.qvel[:] = rng.normal(size=m.nv) * 0.1
    q, v, act = np.array(theirs.qpos), np.array(theirs.qvel), np.array(theirs.act)
    sim = tg.Sim(model, contact="lcp", dt=m.opt.timestep, servos="explicit", gyroscopic="explicit", explicit_damping=explicit)
    out = dynamics(tg.Sim(model, contact=None), m, mujoco.MjData(m), rng) if m.nv else {"M": 0.0, "bias": 0.0, "inverse": 0.0}
    sim.qpos[:], sim.qvel[:] = q, v
    if m.na:
        sim.act[:] = act
    bad = [getattr(mujoco.mjtWarning, f"mjWARN_BADQ{what}") for what in ("POS", "VEL", "ACC")]
    peer = fall(m, theirs, lambda: mujoco.mj_step(m, theirs), lambda: theirs.qpos, lambda: any(theirs.warning[k].number for k in bad))
    near = mujoco.MjData(m)   # MuJoCo itself from a start that differs by rounding
    near.qpos[:], near.qvel[:], near.act[:] = q, v * (1 + 4e-16), act
    mujoco.mj_integratePos(m, near.qpos, np.full(m.nv, 1e-16), 1.0)   # of velocities alone large accelerations leave nothing
    twin = fall(m, near, lambda: mujoco.mj_step(m, near), lambda: near.qpos)
    try:
        ours = fall(m, sim, sim.step, lambda: sim.qpos)
    except tg.Error as error:
        return out | {"steps": len(peer), "why": str(error), "free": math.inf, "rounding": far(m, twin, peer)}
    return out | {"steps": len(peer), "free": math.inf if len(ours) < len(peer) else far(m, ours, peer), "rounding": far(m, twin, peer)}


def outcome(path, one="--one"):
    done = subprocess.run([sys.executable, __file__, one, str(path)], capture_output=True, text=True)
    if done.returncode == -signal.SIGXCPU:
        return {"load": "refused", "why": f"not done in {LIMIT} s"}
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"load": "refused", "why": done.stderr.strip()[-200:] or f"ended with code {done.returncode}"}


def keeping(arguments, one):
    """outcome, or with --keep what an earlier run noted of the same file."""
    place = next((pathlib.Path(a.removeprefix("--keep=")) for a in arguments if a.startswith("--keep=")), None)
    if place is None:
        return lambda path: outcome(path, one)
    lines = map(json.loads, place.read_text().splitlines()) if place.exists() else ()
    known = {line["path"]: line["result"] for line in lines if line["what"] == one}

    def run(path):
        if str(path) not in known:
            known[str(path)] = outcome(path, one)
            with place.open("a") as to:
                to.write(json.dumps({"what": one, "path": str(path), "result": known[str(path)]}) + "\n")
        return known[str(path)]
    return run


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


def free_table(found):
    lines = ["| package | files | compared | mass matrix | bias | inverse dynamics | within 1e-8 | worst of these | beyond | run away in MuJoCo |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for package, results in [*found.items(), ("all", sum(found.values(), []))]:
        ran = [r for r in results if "free" in r]
        good = [r["free"] for r in ran if r["free"] <= 1e-8]
        away = sum(r["steps"] < FREE for r in ran)
        worst = " | ".join(f"{max((r[what] for r in ran), default=0):.1e}" for what in ("M", "bias", "inverse"))
        lines.append(f"| {package} | {len(results)} | {len(ran)} | {worst} | {len(good)} | {max(good, default=0):.1e} | {len(ran) - len(good)} | {away} |")
    lines.append("")
    for r in sum(found.values(), []):
        if "free" not in r:
            lines.append(f"* {r['file']}: not compared: {r.get('left') or r.get('why')}")
        elif r["free"] > 1e-8:
            lines.append(f"* {r['file']}: {r['free']:.1e} after {r['steps']} steps, MuJoCo from a start that differs by rounding {r['rounding']:.1e}"
                         + (f"; {r['why']}" if "why" in r else ""))
        if "free" in r and max(r["M"], r["bias"], r["inverse"]) > 1e-10:
            lines.append(f"* {r['file']}: mass matrix {r['M']:.1e}, bias {r['bias']:.1e}, inverse dynamics {r['inverse']:.1e}")
    return "\n".join(line.replace("\n", " ") for line in lines) + "\n"


# by the argument: what is done with a file, the table, and where that stands
MODES = {"--one": attempt, "--one-run": attempt_run, "--one-free": attempt_free}
TABLES = {"--one": (table, PAGE, START, END), "--one-run": (run_table, PAGE, RUN_START, RUN_END),
          "--one-free": (free_table, PAGE, FREE_START, FREE_END)}


def main(arguments):
    if arguments and arguments[0] in MODES:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
        print(json.dumps(MODES[arguments[0]](arguments[1])))
        return 0
    one = next((f"--one-{word}" for word in ("run", "free") if f"--{word}" in arguments), "--one")
    folders = [pathlib.Path(a) for a in arguments if not a.startswith("--")]
    if not folders:
        print(__doc__, file=sys.stderr)
        return 1
    paths = [(path.relative_to(folder).parts[0], path) for folder in folders for path in models(folder)]
    if one != "--one":
        paths = [p for p in paths if p[0] not in ("mujoco", "tangere")]   # what this script itself needs
    found, run = {}, keeping(arguments, one)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for k, ((package, path), result) in enumerate(zip(paths, pool.map(lambda p: run(p[1]), paths))):
            print(f"\r{k + 1} of {len(paths)}", end="", file=sys.stderr, flush=True)
            if result:
                found.setdefault(package, []).append(result | {"file": f"{package}/{path.parent.name}/{path.name}"})
    print(file=sys.stderr)
    made, page, start, end = TABLES[one]
    text = made(found)
    print(text)
    if "--write" in arguments:
        whole = page.read_text()
        page.write_text(whole[:whole.index(start) + len(start)] + text + whole[whole.index(end):])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
