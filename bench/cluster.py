"""Numbers of docs/many_machines.md, on one machine: PYTHONPATH=test/python build/venv/bin/python bench/cluster.py [FOLDER]

Two threads of one process against two workers of a Dask scheduler, at shards of about 0.5 s and 50 ms; shards that compute next to nothing;
a merge of 100,000 results. FOLDER: where results go (on a disk each waits for it, in memory as /dev/shm none does)."""
import pathlib
import subprocess
import sys
import tempfile
import time

import farm
import tangere as tg
import tangere.cluster
from tangere import _program


def threads(spec, out, n):
    began = time.monotonic()
    subprocess.run([_program.path(), "batch", spec, "--out", out, "--threads", str(n)], env=_program.environ(), check=True, capture_output=True)
    return time.monotonic() - began


def workers(spec, out, f):
    began = time.monotonic()
    tangere.cluster.run(spec, out, f.address)
    return time.monotonic() - began


def main(folder):
    with tempfile.TemporaryDirectory(dir=folder) as top:
        top = pathlib.Path(top)
        f = farm.Farm(top / "log", workers=2)
        tangere.cluster.run(farm.specification(top / "warm", 4, iterations=1), top / "warm" / "out", f.address)
        for name, shards, iterations in (("0.5 s", 20, 500), ("50 ms", 200, 50)):
            spec = farm.specification(top / name.replace(" ", ""), shards, steps=100, iterations=iterations)
            ratios = []
            for k in range(3):
                a, b = threads(spec, spec.parent / f"t{k}", 2), workers(spec, spec.parent / f"w{k}", f)
                ratios.append(b / a)
                print(f"shards of {name}: {shards} in {a:.2f} s on 2 threads ({2 * a / shards:.3f} s each), {b:.2f} s on 2 workers", flush=True)
            print(f"shards of {name}: workers take {sorted(ratios)[1]:.3f} of the threads' time (median of 3)", flush=True)
        spec = farm.specification(top / "empty", 10000, steps=1, job="rollouts")
        took = workers(spec, spec.parent / "out", f)
        print(f"10,000 shards of one step: {10000 / took:.0f} a second through one scheduler and 2 workers", flush=True)
        took = threads(spec, spec.parent / "threads", 2)
        print(f"the same on 2 threads: {10000 / took:.0f} a second", flush=True)
        f.close()
        spec = farm.specification(top / "many", 100000, steps=1, job="rollouts")
        took = threads(spec, spec.parent / "out", 2)
        print(f"100,000 shards on 2 threads: {took:.1f} s", flush=True)
        began = time.monotonic()
        merged = tg.Shards.merge([str(spec.parent / "out")], spec.parent / "out")
        print(f"merge of {merged['shards']:,} results: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "/dev/shm")
