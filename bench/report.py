#!/usr/bin/env python3
"""Everything that is measured, in one run: prints a table, keeps the numbers and writes docs/performance.md.

usage: build/venv/bin/python bench/report.py [--out bench/results] [--no-docs]       (what `make bench` runs)
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
    ("warm step", "humanoid of 33 dof, 24 contacts"): "two class solves of 72 rows, each a rank-revealing QR (LAPACK dgeqp3): one for the classes kept, one that tries to hold the rows that "
        "are tied (in a factorisation of its own, so that nothing has to be solved again to go back: 141 us instead of 156, both in the machine's fast state). "
        "One such QR is about 30 us; the second goes when a tie that did not settle in the step before is not tried again.",
    ("warm step", "jump-worm"): "half of it is collision of convex shapes (supports, faces, clipping), a sixth the contact solve, a fifth (1 us) the dynamics.",
    ("warm step", "catapult"): "half of it is collision of convex shapes (supports, faces, clipping), a sixth the contact solve, a fifth (1 us) the dynamics.",
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


def markdown(rows, name, date):
    lines = ["# Performance", "",
             f"Measured by `make bench` on {date}, one thread, on: {name}. Times are the least of many repeats, means over states. A step is given with the classes of",
             "contacts of the step before it (warm). *Reach* is what the project set itself; rows that miss it say so. Published figures are their authors', on their machines.", ""]
    groups = list(dict.fromkeys(r["group"] for r in rows))
    for group in groups:
        lines += [f"## {group[0].upper() + group[1:]}", "", "| | ours | reach | | other |", "|---|---|---|---|---|"]
        for r in (r for r in rows if r["group"] == group):
            value = f"{r['value']:.3g} {r['unit'].replace('us', 'µs')}"
            want = "" if r["want"] is None else f"{r['want']:.3g}"
            verdict = "" if r["reached"] is None else "reached" if r["reached"] else "**missed**"
            other = r["note"].replace("us", "µs") + (f" ({r['peer']})" if r["note"] else "") if r["note"] else f"{r['theirs']} µs ({r['peer']})" if r["theirs"] else ""
            lines.append(f"| {r['name']} | {value} | {want} | {verdict} | {other} |")
        lines.append("")
    missed = [r for r in rows if r["reached"] is False]
    if missed:
        lines += ["## What is missed, and why", ""] + [f"- {r['group']}, {r['name']}: {WHY.get((r['group'], r['name']), 'not looked into yet.')}" for r in missed] + [""]
    lines += ["## What is compared", "",
              "- Five Jacobians: d(q', v')/d(q, v, u) by `tg_sim_step_jacobian` after a step. Models of `models/`, built for this project with the dofs and contacts of the published",
              "  scenes, not their shapes.",
              "- MuJoCo: its step with constraints disabled and the Euler integrator against ours without a contact model; `mjd_transitionFD` against one step of ours and its exact",
              "  Jacobian (our contact is hard, theirs soft). See `bench/mujoco_ratio.py`.",
              "- Pinocchio: called from Python with the cost of the call taken off. See `bench/pinocchio_ratio.py`.", ""]
    return "\n".join(lines)


def main():
    out = ROOT / (sys.argv[sys.argv.index("--out") + 1] if "--out" in sys.argv else "bench/results")
    rows = []
    os.chdir(ROOT)
    scenes(rows)
    steps(rows)
    script(rows, "mujoco_ratio.py", "step without contact against MuJoCo")
    script(rows, "pinocchio_ratio.py", "dynamics against Pinocchio")
    name, date = machine(), datetime.date.today().isoformat()
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{date}-{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}.json"
    file.write_text(json.dumps({"date": date, "machine": name, "rows": rows}, indent=1) + "\n")
    if "--no-docs" not in sys.argv:
        (ROOT / "docs/performance.md").write_text(markdown(rows, name, date))
    for r in rows:
        verdict = "" if r["reached"] is None else "reached" if r["reached"] else "MISSED"
        print(f"{r['group'][:44]:46}{r['name'][:56]:58}{r['value']:>10.3f} {r['unit']:12}{'' if r['want'] is None else format(r['want'], '.3g'):>8} {verdict}")
    print(f"kept in {file.relative_to(ROOT)}")


main()
