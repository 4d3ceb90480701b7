#!/usr/bin/env python3
"""Everything that is measured, in one run: prints a table, keeps the numbers and writes docs/performance.md.

usage: build/venv/bin/python bench/report.py [--out bench/results] [--no-docs] [--only PART]       (what `make bench` runs)
PART: one of scenes, steps, barrier, mujoco, pinocchio; the other rows are those of the newest results.
"""
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import peers  # noqa: E402

SCENES = [  # name in our words, model, keyframe, the five Jacobians, warm step (us wanted)
    ("humanoid of 33 dof, 24 contacts", "humanoid33", "sunk", 500, 150),
    ("half-cheetah", "half_cheetah", "bench", 25, 10),
    ("jump-worm", "jump_worm", "bench", 12, 5),
    ("catapult", "catapult", "bench", 12, 5),
]
CHAINS = {"chain 5": 5, "chain 9": 10, "chain 18": 25, "chain 32": 60}
BODIES = {"1 ball": 10, "8 balls": 60, "32 balls": 500, "2 boxes": 60, "8 boxes": 500}
# published by their authors, on their machines: five Jacobians of Nimble [lcp, repository's benchmark], DART 7 [its documentation]
PUBLISHED = {"humanoid of 33 dof, 24 contacts": ("Nimble, Atlas", 8530), "half-cheetah": ("Nimble", 395), "jump-worm": ("Nimble", 256), "catapult": ("Nimble", 265),
             "chain 5": ("DART 7", 25), "chain 9": ("DART 7", 45), "chain 18": ("DART 7", 143), "chain 32": ("DART 7", 394),
             "1 ball": ("DART 7", 75), "8 balls": ("DART 7", 550), "32 balls": ("DART 7", 10300)}

# Why a row may miss its reach: printed beside those that do.
WHY = {
    ("warm step", "humanoid of 33 dof, 24 contacts"): "two class solves of 72 rows, each a rank-revealing QR: one for the classes kept, one that tries to hold the rows that "
        "are tied, in a factorisation of its own. The second goes when a tie that did not settle in the step before is not tried again.",
    ("warm step", "jump-worm"): "half of it is collision of convex shapes (supports, faces, clipping), a sixth the contact solve, a fifth (1 us) the dynamics.",
    ("warm step", "catapult"): "half of it is collision of convex shapes (supports, faces, clipping), a sixth the contact solve, a fifth (1 us) the dynamics.",
}


# The barrier's benches measure the time of a thread on a core, which other work on the machine disturbs less than the clock.
BARRIER = ["barrier: pairs of triangles", "barrier: a sum over 16 balls and the ground", "barrier: product with friction's B over that sum", "barrier: step bound of 16 balls"]
GROUP_WHY = {
    BARRIER[1]: "a sum of the packed rack of 6272 triangles solves 21,600 pairs of triangles (about 0.11 us each) and adds up 98,000 clusters in the moment form, 163,000 in the paper's, and "
        "48,000 to 63,000 blends. Before the box the paper's form has no one-sided acceptance and solves 96,000 pairs of triangles.",
    BARRIER[2]: "the product does a sum without second derivatives and takes a weight back through each of its terms, sixteen at a time.",
}


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"model name\s*:\s*(.+)", text)
    return (found.group(1) if found else platform.processor() or "unknown").strip()


def entry(group, name, value, want, unit="us", peer=None, theirs=None, note=""):
    return {"group": group, "name": name, "value": round(value, 4), "unit": unit, "want": want, "peer": peer, "theirs": theirs, "note": note,
            "reached": None if want is None else value <= want}


def scenes(rows):
    for name, model, key, five, warm in SCENES:
        path = f"models/{model}.xml"
        times, shape = peers.ours([path], contact=True, h=1e-3, key=key)
        step, both, vjp = (times[f"{what} {path}"] for what in ("step", "step_jacobian", "step_vjp"))
        peer, theirs = PUBLISHED[name]
        dof, contacts = shape[path]
        rows.append(entry("five Jacobians of a step", f"{name} ({dof} dof, {contacts} contacts)", both - step, five, peer=peer + ", published", theirs=theirs))
        rows.append(entry("warm step", name, step, warm))
        rows.append(entry("five Jacobians over warm step", name, (both - step) / step, 2, unit="times"))
        rows.append(entry("adjoint over step", name, vjp / step, 2, unit="times"))


def steps(rows):
    run = subprocess.run([ROOT / "build/bin/bench_step", "--json"], check=True, capture_output=True, text=True)
    for r in json.loads(run.stdout)["rows"]:
        both = r["step_us"] + r["jacobian_us"]
        want = CHAINS.get(r["name"]) or BODIES.get(r["name"])
        peer, theirs = PUBLISHED.get(r["name"], (None, None))
        group = "step and Jacobian, without contact" if r["name"] in CHAINS else "step and Jacobian, bodies at rest" if want else "step and Jacobian, other scenes"
        rows.append(entry(group, f"{r['name']} ({r['dof']} dof, {r['contacts']:.0f} contacts)", both, want, peer=peer and peer + ", published", theirs=theirs))


def bench(name, *arguments):
    run = subprocess.run([ROOT / "build/bin" / name, *map(str, arguments)], check=True, capture_output=True, text=True)
    return [line.split() for line in run.stdout.splitlines()]


def barrier(rows):
    for line in bench("bench_pair"):
        if len(line) != 4 or line[1] != "all":
            continue
        want = {"avx512": (1e3 / 8, 1e3 / 11)}.get(line[0], (None, None))
        for what, rate, reach in zip(("cold", "warm"), line[2:], want):
            rows.append(entry(BARRIER[0], f"{what}, {line[0]}, value, gradient and Hessian, mean of 12 kinds", 1e3 / float(rate), reach, unit="ns"))
    for line in bench("bench_barrier"):
        if line[0] == "form" or int(line[2]) not in (512, 6272):
            continue
        form, ground, triangles = line[:3]
        value, begin, product = map(float, line[3:6])
        name = f"{form} form, {ground}, {triangles} triangles"
        rows.append(entry(BARRIER[1], name, value, 8 if triangles == "6272" else None, unit="ms", note=f"start of a step {begin} ms"))
        rows.append(entry(BARRIER[2], name, product / value, 1, unit="times"))
    for line in bench("bench_advance"):
        if line[:2] != ["sixteen", "balls"] or line[3] not in ("1e-02", "1e-04", "1e-06"):
            continue
        rows.append(entry(BARRIER[3], f"4,514 triangles each, step of {line[3]} m", float(line[6]), None, note=f"each later one of five {line[10]} us"))


def script(rows, name, group):
    run = subprocess.run([sys.executable, ROOT / "bench" / name, "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        print(f"{name} failed: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return
    result = json.loads(run.stdout.splitlines()[-1])
    for r in result["rows"]:
        want = {"<= 1": 1, "<= 1/8": 1 / 8, "<= 1/15": 1 / 15}.get(r["want"])
        what = group if not r["name"].startswith("humanoid standing") else "step and Jacobian against finite differences of a step"
        rows.append(entry(what, r["name"], r["ratio"], want, unit="ours/theirs", peer=result["peer"], theirs=r["theirs"], note=f"ours {r['ours']} us, theirs {r['theirs']} us"))


def loaded(rows):
    """What to say of rows that were measured while the machine had other work."""
    busy = {r["group"]: r["load"] for r in rows if r.get("load", 0) > 1.5 * (os.cpu_count() or 1)}
    if not busy:
        return []
    return [f"Measured while the machine had {max(busy.values()):.0f} things to do on {os.cpu_count()} cores, and so too long by what these take of caches and shared units, some 10 to 30 %: "
            + "; ".join(busy) + ".", ""]


def markdown(rows, name, date):
    lines = ["# Performance", "",
             f"Measured by `make bench` on {date}, one thread, on: {name}. Times are the least of many repeats, means over states. A step is given with the classes of",
             "contacts of the step before it (warm). *Reach* is what the project set itself; rows that miss it say so. Published figures are their authors', on their machines.", "",
             *loaded(rows)]
    groups = list(dict.fromkeys(r["group"] for r in rows))
    for group in groups:
        lines += [f"## {group[0].upper() + group[1:]}", "", "| | ours | reach | | other |", "|---|---|---|---|---|"]
        for r in (r for r in rows if r["group"] == group):
            value = f"{r['value']:.3g} {r['unit'].replace('us', 'µs')}"
            want = "" if r["want"] is None else f"{r['want']:.3g}"
            verdict = "" if r["reached"] is None else "reached" if r["reached"] else "**missed**"
            other = r["note"].replace("us", "µs") + (f" ({r['peer']})" if r["peer"] else "") if r["note"] else f"{r['theirs']} µs ({r['peer']})" if r["theirs"] else ""
            lines.append(f"| {r['name']} | {value} | {want} | {verdict} | {other} |")
        lines.append("")
    missed = [r for r in rows if r["reached"] is False]
    if missed:
        one = [f"- {r['group']}, {r['name']}: {WHY.get((r['group'], r['name']), 'not looked into yet.')}" for r in missed if r["group"] not in GROUP_WHY]
        lines += ["## What is missed, and why", "", *one, *(f"- {g}: {GROUP_WHY[g]}" for g in groups if g in {r["group"] for r in missed} & set(GROUP_WHY)), ""]
    lines += ["## What is compared", "",
              "- Five Jacobians: d(q', v')/d(q, v, u) by `tg_sim_step_jacobian` after a step. Models of `models/`, built for this project with the dofs and contacts of the published",
              "  scenes, not their shapes.",
              "- MuJoCo: its step with constraints disabled and the Euler integrator against ours without a contact model; `mjd_transitionFD` against one step of ours and its exact",
              "  Jacobian (our contact is hard, theirs soft). See `bench/mujoco_ratio.py`.",
              "- Pinocchio: called from Python with the cost of the call taken off. See `bench/pinocchio_ratio.py`.",
              "- `toi` against both rules of `lcp`, each along its own motion, quiet steps and impacts apart: `bench_events`, see the end of "
              "this page.",
              "- Piles: `bench/pile.py`, see the end of this page.",
              "- Barrier: time of the thread on a core. `bench_pair`; `bench_barrier`, value, gradient and second derivatives of a rack of 15 balls with a cue ball, with friction, the",
              "  balls having moved by a thousandth of their radius; `bench_advance`. What a whole frame costs is BA-R3 in [reproductions](reproductions.md).", ""]
    return "\n".join(lines)


PARTS = {"scenes": scenes, "steps": steps, "barrier": barrier,
         "mujoco": lambda rows: script(rows, "mujoco_ratio.py", "step without contact against MuJoCo"),
         "pinocchio": lambda rows: script(rows, "pinocchio_ratio.py", "dynamics against Pinocchio")}


def measured(only):
    rows = []
    for part in [only] if only else PARTS:
        PARTS[part](rows)
    for r in rows:
        r["load"] = round(os.getloadavg()[0], 1)
    return rows


def merged(rows, out):
    """rows, with those of the newest results whose group was not measured."""
    files = sorted(out.glob("*.json"))
    old = json.loads(files[-1].read_text())["rows"] if files else []
    new = {r["group"] for r in rows}
    return [r for r in old if r["group"] not in new] + rows


def main():
    out = ROOT / (sys.argv[sys.argv.index("--out") + 1] if "--out" in sys.argv else "bench/results")
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
    os.chdir(ROOT)
    rows = measured(only)
    if only:
        rows = merged(rows, out)
    name, date = machine(), datetime.date.today().isoformat()
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{date}-{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}.json"
    file.write_text(json.dumps({"date": date, "machine": name, "rows": rows}, indent=1) + "\n")
    page = ROOT / "docs/performance.md"
    if "--no-docs" not in sys.argv:
        old = page.read_text()   # from Piles on it is written by hand
        page.write_text(markdown(rows, name, date) + (old[old.index("\n## Piles"):] if "\n## Piles" in old else ""))
    for r in rows:
        verdict = "" if r["reached"] is None else "reached" if r["reached"] else "MISSED"
        print(f"{r['group'][:44]:46}{r['name'][:56]:58}{r['value']:>10.3f} {r['unit']:12}{'' if r['want'] is None else format(r['want'], '.3g'):>8} {verdict}")
    print(f"kept in {file.relative_to(ROOT)}")


main()
