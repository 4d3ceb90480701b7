"""What a cluster of many cores does with shards: an event simulation of workers, one scheduler and one driver with measured costs, for
docs/many_machines.md. Standard library; the picture needs matplotlib.

    build/venv/bin/python bench/cluster_plan.py [--picture docs/pictures/cluster_plan.svg]            # the plan, as a table
    PYTHONPATH=test/python build/venv/bin/python bench/cluster_plan.py --measure 14                   # prediction against 14 real workers

Scheduler and driver are servers that do one thing at a time. A worker has up to two shards, as Dask gives it; one that has none takes the second
of another, at the price of one more message. Of a worker that dies its shards go back to the scheduler, at once where the connection breaks,
after the time-out where it is cut off, and it comes back later."""
import argparse
import collections
import dataclasses
import heapq
import json
import math
import random
import sys


@dataclasses.dataclass(frozen=True)
class Costs:
    """Processor time a shard [s], as bench/cluster.py measures it (docs/many_machines.md), and delays [s]."""
    submit: float = 0.4e-3      # driver, to give a shard out
    take: float = 0.7e-3        # driver, to take a result and write the ledger
    arrive: float = 0.6e-3      # scheduler, for a new shard
    finish: float = 1.0e-3      # scheduler, for a result, and the next shard of that worker
    worker: float = 2.9e-3      # worker, besides what the shard computes
    flush: float = 5e-3         # a result's way to the disk; a worker waits for it
    network: float = 0.2e-3     # a message
    start: float = 0.0          # before the first shard


@dataclasses.dataclass(frozen=True)
class Faults:
    life: float = math.inf      # mean time to the end of a worker [s]
    back: float = 60.0          # until it is there again [s]
    cut: float = 0.5            # share of ends that the scheduler sees only after `ttl`
    ttl: float = 10.0


@dataclasses.dataclass
class Outcome:
    seconds: float
    ideal: float                # work over workers [s]
    driver: float               # shares of the time
    scheduler: float
    deaths: int
    again: int                  # shards that were given out more than once

    @property
    def efficiency(self):
        return self.ideal / self.seconds


class _Server:
    """Does one thing at a time, in the order of arrival."""

    def __init__(self):
        self.free, self.busy = 0.0, 0.0

    def serve(self, now, cost):
        self.free = max(self.free, now) + cost
        self.busy += cost
        return self.free


class Cluster:
    IN_FLIGHT = 4096            # tangere.cluster's own

    def __init__(self, workers, work, costs=Costs(), faults=Faults(), seed=1):
        """work: seconds of each shard."""
        self.n, self.work, self.costs, self.faults = workers, work, costs, faults
        self.random = random.Random(seed)
        self.events, self.count = [], 0
        self.driver, self.scheduler = _Server(), _Server()
        self.waiting = collections.deque()                  # shards that the scheduler holds
        self.held = [collections.deque() for _ in range(workers)]
        self.running = [0] * workers                        # token of what runs; an event of an old token says nothing
        self.up = [True] * workers
        self.room = collections.deque(w for _ in range(2) for w in range(workers))
        self.second = {}                                    # workers that have a shard which they have not begun
        self.next, self.flight, self.done, self.deaths, self.again = 0, 0, set(), 0, 0

    def at(self, time, what, *args):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, what, args))

    def run(self):
        if math.isfinite(self.faults.life):
            for w in range(self.n):
                self.at(self.random.expovariate(1 / self.faults.life), self.die, w)
        self.at(self.costs.start, self.feed)
        now = 0.0
        while len(self.done) < len(self.work):
            now, _, what, args = heapq.heappop(self.events)
            what(now, *args)
        return Outcome(now, sum(self.work) / self.n, self.driver.busy / now, self.scheduler.busy / now, self.deaths, self.again)

    # ---- driver ----

    def feed(self, now):
        # one at a time, so that results are taken in between
        if self.flight < self.IN_FLIGHT and self.next < len(self.work):
            t = self.driver.serve(now, self.costs.submit)
            self.at(t + self.costs.network, self.arrive, self.next)
            self.next += 1
            self.flight += 1
            self.at(t, self.feed)

    def take(self, now, shard):
        self.at(self.driver.serve(now, self.costs.take), self.taken, shard)

    def taken(self, now, shard):
        full = self.flight >= self.IN_FLIGHT
        self.flight -= 1
        self.done.add(shard)
        if full:
            self.feed(now)

    # ---- scheduler ----

    def arrive(self, now, shard):
        self.at(self.scheduler.serve(now, self.costs.arrive), self.assign, shard)

    def assign(self, now, shard=None):
        if shard is not None:
            self.waiting.append(shard)
        while self.waiting and self.room:
            w = self.room.popleft()
            if self.up[w] and len(self.held[w]) < 2:
                shard = self.waiting.popleft()
                self.hold(now + self.costs.network, w, shard)

    def hold(self, now, w, shard):
        self.held[w].append(shard)
        if len(self.held[w]) > 1:
            self.second[w] = True
        self.at(now, self.begin, w)

    def steal(self, now, w):
        if self.second and self.up[w] and not self.held[w]:
            victim = next(iter(self.second))
            del self.second[victim]
            self.room.append(victim)
            self.hold(self.scheduler.serve(now, self.costs.finish) + 2 * self.costs.network, w, self.held[victim].pop())

    def finished(self, now, w, shard):
        t = self.scheduler.serve(now, self.costs.finish)
        self.at(t + self.costs.network, self.take, shard)
        self.at(t, self.freed, w)

    def freed(self, now, w):
        self.room.append(w)
        self.assign(now)
        self.steal(now, w)

    # ---- workers ----

    def begin(self, now, w):
        if self.up[w] and self.held[w] and self.running[w] <= 0:
            self.count += 1
            self.running[w] = self.count
            seconds = self.work[self.held[w][0]] + self.costs.worker + self.costs.flush
            self.at(now + seconds, self.end, w, self.count)

    def end(self, now, w, token):
        if self.running[w] != token:
            return
        self.running[w] = 0
        shard = self.held[w].popleft()
        self.second.pop(w, None)
        self.at(now + self.costs.network, self.finished, w, shard)
        self.begin(now, w)

    def die(self, now, w):
        self.deaths += 1
        lost, self.held[w] = self.held[w], collections.deque()
        self.up[w], self.running[w] = False, 0
        self.second.pop(w, None)
        seen = now + (self.faults.ttl if self.random.random() < self.faults.cut else self.costs.network)
        for shard in lost:
            self.again += 1
            self.at(seen, self.arrive, shard)
        self.at(max(now + self.faults.back, seen), self.rise, w)

    def rise(self, now, w):
        self.up[w] = True
        self.room = collections.deque(other for other in self.room if other != w)
        self.room.extend((w, w))
        self.assign(now)
        self.at(now + self.random.expovariate(1 / self.faults.life), self.die, w)


def lengths(count, mean, spread, seed=1):
    """Log-normal shard times of that mean [s]; spread: standard deviation of their logarithm."""
    r = random.Random(seed)
    return [mean * math.exp(spread * r.gauss(0, 1) - spread * spread / 2) for _ in range(count)]


# ---- the plan ----

CORES = (64, 256, 1000, 4000)
SECONDS = (0.05, 0.2, 0.5, 1.6, 5, 20, 60)


def plan(costs, each=20, spread=0.3):
    print(f"Efficiency (work over cores and time) at {each} shards a core, log-normal lengths of spread {spread}; in brackets the share of its "
          "time that the scheduler works.\n")
    print("| shard | " + " | ".join(f"{n} cores" for n in CORES) + " |\n|---|" + "---|" * len(CORES))
    table = {}
    for s in SECONDS:
        row = []
        for n in CORES:
            o = table[s, n] = Cluster(n, lengths(each * n, s, spread), costs).run()
            row.append(f"{o.efficiency:.0%} ({o.scheduler:.0%})")
        print(f"| {s:g} s | " + " | ".join(row) + " |", flush=True)
    most = 1 / (costs.arrive + costs.finish)
    print(f"\nAt most {most:.0f} shards a second through one scheduler, {1 / (costs.submit + costs.take):.0f} through the driver.")
    for name, faults in (("no worker ends", Faults()), ("each worker ends once a day", Faults(life=86400)),
                         ("each worker ends once an hour", Faults(life=3600))):
        o = Cluster(1000, lengths(20000, 60, spread), costs, faults).run()
        print(f"20,000 shards of 60 s on 1,000 cores, {name}: {o.seconds / 60:.1f} minutes, {o.efficiency:.0%}, {o.deaths} ends, {o.again} shards "
              "given out again", flush=True)
    return [{"shard": s, "cores": n, "efficiency": o.efficiency, "scheduler": o.scheduler, "driver": o.driver} for (s, n), o in table.items()]


def picture(rows, path):
    from matplotlib.figure import Figure
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for n in CORES:
        axes.semilogx(SECONDS, [100 * r["efficiency"] for s in SECONDS for r in rows if (r["shard"], r["cores"]) == (s, n)], "o-", label=f"{n} cores")
    axes.set_xlabel("length of a shard [s]")
    axes.set_ylabel("work over cores and time [%]")
    axes.set_ylim(0, 105)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


# ---- against real processes ----

def measure(workers, folder):
    """Real workers against the simulation with the costs that the same run has: a line a shard length."""
    import pathlib
    import tempfile
    import cluster
    import farm
    import tangere.cluster
    with tempfile.TemporaryDirectory(dir=folder) as top:
        top = pathlib.Path(top)
        f = farm.Farm(top / "log", workers=workers)
        tangere.cluster.run(farm.specification(top / "warm", 4 * workers, iterations=1), top / "warm" / "out", f.address)
        spec = farm.specification(top / "empty", 3000, steps=1, job="rollouts")
        far, own, scheduler, driver = cluster.workers(spec, spec.parent / "out", f)
        rate, own, scheduler, driver = 3000 / far, own / 3000, scheduler / 3000, driver / 3000
        costs = Costs(submit=0.36 * driver, take=0.64 * driver, arrive=0.375 * scheduler, finish=0.625 * scheduler, worker=own, flush=0.0)
        print(f"3000 shards of one step on {workers} workers: {rate:.0f} a second; a shard costs worker {1e3 * own:.2f} ms, scheduler "
              f"{1e3 * scheduler:.2f} ms, driver {1e3 * driver:.2f} ms", flush=True)
        rows = []
        for iterations, shards in ((5, 2000), (20, 1500), (50, 1000), (200, 20 * workers)):
            spec = farm.specification(top / f"i{iterations}", shards, steps=100, iterations=iterations)
            wall, own, scheduler, driver = cluster.workers(spec, spec.parent / "w", f)
            work = own / shards - costs.worker
            o = Cluster(workers, [work] * shards, costs).run()
            rows.append({"shard": work, "shards": shards, "measured": wall, "simulated": o.seconds})
            print(f"{shards} shards of {1e3 * work:.1f} ms: {wall:.2f} s, simulated {o.seconds:.2f} s ({o.seconds / wall - 1:+.0%}); scheduler "
                  f"{scheduler / wall:.0%}, driver {driver / wall:.0%} of the time", flush=True)
        f.close()
        return rows


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--measure", type=int, metavar="WORKERS")
    p.add_argument("--folder", default="/dev/shm")
    p.add_argument("--picture")
    p.add_argument("--json")
    for field in dataclasses.fields(Costs):
        p.add_argument("--" + field.name, type=float, default=field.default, help="[s]")
    args = p.parse_args()
    if args.measure:
        rows = measure(args.measure, args.folder)
    else:
        rows = plan(Costs(**{f.name: getattr(args, f.name) for f in dataclasses.fields(Costs)}))
        if args.picture:
            picture(rows, args.picture)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
