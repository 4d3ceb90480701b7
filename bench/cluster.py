"""Numbers of docs/many_machines.md, on one machine: PYTHONPATH=test/python build/venv/bin/python bench/cluster.py [FOLDER [EMPTY [MERGED [REPEATS]]]]

Two threads of one process against two workers of a Dask scheduler, at shards of about 0.5 s and 50 ms; shards that compute next to nothing;
a merge of 100,000 results. FOLDER: where results go (on a disk each waits for it, in memory as /dev/shm none does)."""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import farm
import tangere as tg
import tangere.cluster
from tangere import _program


def cpu(pid):
    """Processor time of a process so far [s]."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def threads(spec, out, n):
    """Wall and processor time on the threads of one process."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([_program.path(), "batch", spec, "--out", out, "--threads", str(n)], env=_program.environ(), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def workers(spec, out, f):
    """Wall time, and processor time of workers, scheduler and driver."""
    began, before = time.monotonic(), [cpu(p.pid) for p in [*f.workers, f.scheduler]] + [time.process_time()]
    tangere.cluster.run(spec, out, f.address)
    after = [cpu(p.pid) for p in [*f.workers, f.scheduler]] + [time.process_time()]
    used = [b - a for a, b in zip(before, after)]
    return time.monotonic() - began, sum(used[:-2]), used[-2], used[-1]


def main(folder, shards_empty=10000, shards_merged=100000, repeats=3):
    with tempfile.TemporaryDirectory(dir=folder) as top:
        top = pathlib.Path(top)
        f = farm.Farm(top / "log", workers=2)
        tangere.cluster.run(farm.specification(top / "warm", 4, iterations=1), top / "warm" / "out", f.address)
        for name, shards, iterations in (("0.5 s", 20, 500), ("50 ms", 200, 50)):
            spec = farm.specification(top / name.replace(" ", ""), shards, steps=100, iterations=iterations)
            for k in range(repeats):
                wall, used = threads(spec, spec.parent / f"t{k}", 2)
                far, own, scheduler, driver = workers(spec, spec.parent / f"w{k}", f)
                print(f"{shards} shards of {name}: threads {wall:.2f} s, {used:.2f} s of processors; workers {far:.2f} s, {own:.2f} s of "
                      f"processors, scheduler {scheduler:.2f} s, driver {driver:.2f} s: {(own + scheduler + driver) / used - 1:+.1%}", flush=True)
        spec = farm.specification(top / "empty", shards_empty, steps=1, job="rollouts")
        far, own, scheduler, driver = workers(spec, spec.parent / "out", f)
        print(f"{shards_empty} shards of one step: {shards_empty / far:.0f} a second; a shard takes {1e3 * own / shards_empty:.2f} ms of workers' "
              f"processors, {1e3 * scheduler / shards_empty:.2f} ms of the scheduler's, {1e3 * driver / shards_empty:.2f} ms of the driver's",
              flush=True)
        f.close()
        spec = farm.specification(top / "many", shards_merged, steps=1, job="rollouts")
        wall, used = threads(spec, spec.parent / "out", 2)
        print(f"{shards_merged} shards of one step on 2 threads: {wall:.1f} s, {used:.1f} s of processors", flush=True)
        began, before = time.monotonic(), time.process_time()
        merged = tg.Shards.merge([str(spec.parent / "out")], spec.parent / "out")
        print(f"merge of {merged['shards']} results: {time.monotonic() - began:.1f} s, {time.process_time() - before:.1f} s of processors", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "/dev/shm", *map(int, sys.argv[2:]))
