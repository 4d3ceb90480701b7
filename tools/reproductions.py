#!/usr/bin/env python3
"""Runs reproductions and keeps what they print: repro/ID.json, and the tables of docs/reproductions.md made from all of them.

  tools/reproductions.py            run all
  tools/reproductions.py ID ...     run these
  tools/reproductions.py --full ID  the longer form
  tools/reproductions.py --tables   only make the tables again
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "repro"
PAGE = ROOT / "docs" / "reproductions.md"
EXE = ROOT / "build" / "bin" / "tangere"
HELD = {"BA-R4": "push_demo.yaml", "BA-R6": "ant_push_held.yaml"}   # tasks whose motion is left in the folder `held`
START = "<!-- tables: tools/reproductions.py -->"


def number(x):
    return "" if x is None else f"{x:.4g}"


def table(result, command):
    lines = [f"### {result['id']}", "", f"{result['title'][0].upper()}{result['title'][1:]}.", "",
             f"`{command}`, {result['date']}, {result['machine']}, {result['seconds']:.0f} s.", "",
             "| row | ours | band | | paper | note |", "|---|---|---|---|---|---|"]
    for r in result["rows"]:
        verdict = "" if r["band"] == "reported" else "met" if r["pass"] else "**missed**"
        value = "none" if r["value"] is None else number(r["value"])
        lines.append(f"| `{r['name']}` | {value} {r['unit']} | {r['band']} | {verdict} | {number(r['paper'])} | {r['note'].replace('|', '/')} |")
    return "\n".join(lines) + "\n"


def write_tables():
    head = PAGE.read_text().split(START)[0]
    parts = []
    for path in sorted(KEPT.glob("*.json")):
        kept = json.loads(path.read_text())
        parts.append(table(kept, kept.pop("command")))
    PAGE.write_text(head + START + "\n\n" + "\n".join(parts))


def in_mujoco(result):
    """The motions of hard contact replayed in MuJoCo, where this Python has the packages tangere and mujoco; else their row says what is missing."""
    row = next((r for r in result["rows"] if r["name"] == "verify.mujoco.error_m"), None)
    if row is None:
        return
    task = ROOT / "models" / HELD[result["id"]]
    try:
        import numpy
        import tangere.mujoco
    except ImportError as missing:
        row["note"] = f"not replayed: {missing}"
        return
    folder = next(f for f in (pathlib.Path(p).parent for p in result["left"]) if f.name == "held")
    found = tangere.mujoco.verify(tangere.Task(task), numpy.load(ROOT / folder / "trajectory.npz")["variables"])
    row["value"], row["note"] = found["distance"], f"replayed: {found['what']}; {found['verdict']} {found['reason']}".strip()


def main():
    full, ids = "--full" in sys.argv[1:], [a for a in sys.argv[1:] if not a.startswith("-")]
    if "--tables" not in sys.argv[1:]:
        if not ids:
            ids = [e["id"] for e in json.loads(subprocess.run([EXE, "reproduce", "--list", "--json"], capture_output=True, check=True).stdout)]
        for name in ids:
            args = ["reproduce", name, "--json"] + ["--full"] * full
            done = subprocess.run([EXE, *args], stdout=subprocess.PIPE, text=True, cwd=ROOT)
            if done.returncode not in (0, 3):
                sys.exit(f"tangere {' '.join(args)} ended with {done.returncode}")
            result = {"command": "tangere " + " ".join(args), **json.loads(done.stdout)}
            in_mujoco(result)
            KEPT.mkdir(exist_ok=True)
            (KEPT / f"{result['id']}{'-full' if full else ''}.json").write_text(json.dumps(result, indent=1) + "\n")
    write_tables()


if __name__ == "__main__":
    main()
