#!/usr/bin/env python3
"""usage: mjcf_files.py [--write] FOLDER ...

Loads every MJCF file below the folders (site-packages of a Python that has dm_control, gymnasium, robosuite, metaworld, ...) that MuJoCo loads and that has a
body, as it is and, where that is refused, without what the refusals name (drop); compares inverse dynamics with MuJoCo's, constraints off, at random states. Prints a table by package
and what is refused. --write: renews it in docs/mjcf.md. Needs tangere and mujoco."""
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/mjcf.md"
START, END = "<!-- made by tools/mjcf_files.py -->\n", "<!-- end -->\n"
LIMIT = 120   # seconds for one file


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
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
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


def attempt(path):
    import mujoco
    import tangere as tg
    try:
        m = mujoco.MjModel.from_xml_path(path)
    except ValueError:
        return {}
    if m.nbody < 2:
        return {}
    out, drop, model = {"load": "plain"}, [], None
    while model is None:
        try:
            model = tg.load(path, drop=drop)
        except tg.Error as error:
            told = re.search(r"--drop=([a-z-]+)", str(error))
            if told is None or told[1] in drop:
                return {"load": "refused", "why": str(error)}
            drop.append(told[1])
            out = {"load": "drop", "why": out.get("why", str(error))}
    if model.nv == m.nv:   # else a body that is left out
        out["difference"] = difference(model, m)
    return out


def outcome(path):
    try:
        done = subprocess.run([sys.executable, __file__, "--one", str(path)], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"load": "refused", "why": f"not done in {LIMIT} s"}
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"load": "refused", "why": done.stderr.strip()[-200:]}


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


def main(arguments):
    if arguments[:1] == ["--one"]:
        print(json.dumps(attempt(arguments[1])))
        return 0
    write, folders = "--write" in arguments, [pathlib.Path(a) for a in arguments if a != "--write"]
    if not folders:
        print(__doc__, file=sys.stderr)
        return 1
    paths = [(path.relative_to(folder).parts[0], path) for folder in folders for path in models(folder)]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for k, ((package, _), result) in enumerate(zip(paths, pool.map(lambda p: outcome(p[1]), paths))):
            print(f"\r{k + 1} of {len(paths)}", end="", file=sys.stderr, flush=True)
            if result:
                found.setdefault(package, []).append(result)
    print(file=sys.stderr)
    text = table(found)
    print(text)
    if write:
        page = PAGE.read_text()
        PAGE.write_text(page[:page.index(START) + len(START)] + text + page[page.index(END):])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
