"""What the measuring scripts share: our figures from build/bin/bench_robot, and rows of ours / theirs."""
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def ours(files, state=None, contact=False, h=None, key=None):
    """{WHAT FILE: microseconds}, {FILE: contacts} of bench_robot."""
    command = [ROOT / "build/bin/bench_robot"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        if contact:
            command.append("--contact")
        if h is not None:
            command += ["--h", repr(h)]
        if key is not None:
            command += ["--key", key]
        if state is not None:
            f.write(" ".join(repr(float(x)) for x in state))
            f.flush()
            command += ["--state", f.name]
        run = subprocess.run(command + list(files), check=True, capture_output=True, text=True)
    rows = json.loads(run.stdout)["rows"]
    return {r["name"]: r["ours"] / 1000 for r in rows}, {r["name"].split(" ", 1)[1]: (r["dof"], r["contacts"]) for r in rows}


def row(name, mine, theirs, want, note=""):
    """Times in microseconds; ratio: ours over theirs, below 1 where we are faster."""
    return {"name": name, "ours": round(mine, 3), "theirs": round(theirs, 3), "unit": "us", "ratio": round(mine / theirs, 4), "want": want, "note": note}


def show(rows):
    print(f"{'':58}{'ours us':>11}{'theirs us':>11}{'ours/theirs':>12}  wanted")
    for r in rows:
        print(f"{r['name']:58}{r['ours']:>11.3f}{r['theirs']:>11.3f}{r['ratio']:>12.3f}  {r['want']}")
