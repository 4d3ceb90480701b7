"""The shards of a specification on the workers of a Dask scheduler: the driver (page Many machines).

    python -m tangere.cluster SPEC.yaml --out DIR --scheduler tcp://host:8786
    tangere.cluster.run("SPEC.yaml", "DIR", scheduler="tcp://host:8786")

A worker writes a shard's result to its file first, and sends back what the ledger keeps of it. The ledger says what is done: a driver,
a scheduler or workers that die and are started again go on from there. A shard whose motions fail is a result; a shard whose worker
died, or whose disk was full, is given to a worker again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import pathlib
import queue
import re
import reprlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from distributed import Client, Future, as_completed
from tornado.ioloop import IOLoop

from ._errors import Error
from ._shard import compute, write
from ._tangere import ShardLedger, Shards

_MOST_POINTS = 2**31 - 1
_IN_FLIGHT = 4096       # shards given to the scheduler at a time
_POLL = 0.005           # [s]
_AVOID = 60.0           # a worker whose machine failed is not given such a shard again for so long, if there is another [s]


# ---- the driver ----

def _is_answer(shard: int, answer: Any) -> bool:
    if not isinstance(answer, dict) or answer.get("shard", shard) != shard:
        return False
    if "refused" in answer or "broken" in answer:
        words = ["refused"] if "refused" in answer else ["broken", "address"]
        return all(isinstance(answer.get(word), str) for word in words)
    result, place = answer.get("result"), answer.get("place")
    if not isinstance(result, dict) or not isinstance(place, str) or not isinstance(answer.get("data", b""), bytes):
        return False
    counts, bits = [result.get(name) for name in ("shard", "points", "failed")], result.get("bits")
    if not all(type(n) is int and 0 <= n <= _MOST_POINTS for n in counts) or type(result.get("best")) is not float:
        return False
    return counts[0] == shard and isinstance(bits, str) and re.fullmatch("[0-9a-f]{16}", bits) is not None


def _check(shard: int, answer: Any) -> None:
    """Raises for what no worker of this version answers; what is said of the result is for its file and the ledger to judge."""
    if not _is_answer(shard, answer):
        raise Error(f"shard {shard}: no answer of a worker of this version: {reprlib.repr(answer)}")


class _Lost(Exception):
    """The scheduler is gone."""


class _Run:
    def __init__(self, spec: str, out: str, worker_spec: str | None, shared: bool, tries: int, say: Callable[[str], None]) -> None:
        self.shards = Shards(spec)
        self.ledger = ShardLedger(self.shards, out)
        self.spec, self.out = os.path.abspath(worker_spec or spec), pathlib.Path(os.path.abspath(out))
        self.shared, self.tries, self.say = shared, tries, say
        self.before, self.began, self.told = self.ledger.done, time.monotonic(), 0.0
        self.attempts: dict[int, int] = {}      # of shards that failed by their machine
        self.reasons: dict[int, str] = {}
        self.given_up: set[int] = set()
        self.broken: dict[str, float] = {}      # workers whose machine failed, and when
        self.moved = time.monotonic()           # when a shard came in last

    def next(self, start: int) -> int:
        shard = self.ledger.next(start)
        while shard in self.given_up:
            shard = self.ledger.next(shard + 1)
        return shard

    def submit(self, client: Client, shard: int) -> Future:
        others = self.others(client) if shard in self.attempts else None
        return client.submit(compute, self.spec, str(self.out) if self.shared else None, shard, self.shards.identity, pure=False,
                             workers=others, allow_other_workers=others is not None,
                             key=f"tangere-{self.shards.key}-{shard}-{os.getpid()}-{time.monotonic_ns()}")

    def others(self, client: Client) -> list[str] | None:
        # a scheduler would give the shard to the worker that has just failed, which is free; None: all are as good
        now = time.monotonic()
        return [w for w in client.nthreads() if now - self.broken.get(w, -_AVOID) >= _AVOID] or None

    def failed(self, shard: int, why: str) -> None:
        self.attempts[shard] = self.attempts.get(shard, 0) + 1
        self.reasons[shard] = why
        self.say(f"shard {shard}, try {self.attempts[shard]} of {self.tries}: {why}")
        if self.attempts[shard] >= self.tries:
            self.given_up.add(shard)

    def seen(self, shard: int, place: str) -> None:
        # a shared file system may show a new file late
        path = self.out / Shards.path(shard)
        until = time.monotonic() + 5
        while not path.exists():
            if time.monotonic() > until:
                raise Error(f"{path} is not there, and {place} wrote it: give --out a folder that all machines see, or --send")
            time.sleep(0.05)

    def take(self, shard: int, answer: dict[str, Any]) -> None:
        if "refused" in answer:
            raise Error(f"a worker does not compute the same:\n  driver: {self.shards.identity}\n  {answer['refused']}")
        result, path = answer["result"], self.out / Shards.path(shard)
        if "data" in answer:
            write(path, answer["data"])
            try:
                result = self.shards.read(shard, self.out)
            except Error:
                path.unlink(missing_ok=True)   # it is no result
                raise
        else:
            self.seen(shard, answer["place"])
        self.ledger.add(result)
        self.moved = time.monotonic()
        self.tell()

    def tell(self, now: bool = False) -> None:
        t, done, total = time.monotonic(), self.ledger.done, self.ledger.total
        if not now and t - self.told < (0.5 if sys.stderr.isatty() else 10) and done < total:
            return
        self.told = t
        rate = (done - self.before) / max(t - self.began, 1e-9)
        left = f"{(total - done) / rate:.0f} s left" if rate > 0 else "time left not known"
        failed, best = self.ledger.failed, self.ledger.best
        self.say(f"{done} of {total} shards, {rate:.3g} a second, {left}, {failed} points failed, least loss {best:.6g}")

    def drive(self, client: Client) -> None:
        """Until no shard is left; raises _Lost where the scheduler went away."""
        held: dict[Future, int] = {}
        coming = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        start, again = self.next(0), []
        while start >= 0 or held or again:
            while len(held) < _IN_FLIGHT and (again or start >= 0):
                shard = again.pop() if again else start
                if shard == start:
                    start = self.next(start + 1)
                future = self.submit(client, shard)
                held[future] = shard
                coming.add(future)
            batch = coming.next_batch(block=False)
            for future, answer in batch:
                shard = held.pop(future)
                if future.status == "finished":
                    _check(shard, answer)
                if future.status == "finished" and "broken" not in answer:
                    self.take(shard, answer)
                elif future.status == "cancelled":
                    raise _Lost
                else:
                    if future.status == "finished":
                        self.broken[answer["address"]] = time.monotonic()
                    self.failed(shard, answer["broken"] if future.status == "finished" else f"its worker died ({answer[1]})")
                    if shard not in self.given_up:
                        again.append(shard)
            if not batch:
                if client.status != "running":
                    raise _Lost
                time.sleep(_POLL)


@contextlib.contextmanager
def _event_loop() -> Iterator[IOLoop]:
    """The event loop of a run's clients, in a thread of ours. Dask would start one for each client while it holds a lock that the finalizer
    of an earlier client takes too: a garbage collection at that moment waits for ever. Nor would it end the one of a client that failed."""
    started: queue.SimpleQueue[IOLoop | BaseException] = queue.SimpleQueue()
    ended = asyncio.Event()

    async def serve() -> None:
        started.put(IOLoop.current())
        await ended.wait()

    def body() -> None:
        try:
            asyncio.run(serve())
        except BaseException as why:
            started.put(why)

    thread = threading.Thread(target=body, name="tangere.cluster", daemon=True)
    thread.start()
    loop = started.get()
    if isinstance(loop, BaseException):
        raise Error(f"no event loop for Dask's client: {loop}") from loop
    try:
        yield loop
    finally:
        loop.add_callback(ended.set)
        thread.join()


def _client(scheduler: str, security: Any, timeout: float, loop: IOLoop) -> Client:
    """A connected client. One that fails is closed here, while its loop runs, and not by the garbage collector."""
    client = Client.__new__(Client)
    try:
        client.__init__(scheduler, security=security, timeout=timeout, set_as_default=False, loop=loop)   # type: ignore[misc]
    except BaseException:
        _leave(client)
        raise
    return client


def _connect(scheduler: str, security: Any, wait: float, loop: IOLoop, say: Callable[[str], None]) -> Client:
    until = time.monotonic() + wait
    while True:
        try:
            client = _client(scheduler, security, min(15.0, max(wait, 1.0)), loop)
            say(f"{scheduler}: dashboard {client.dashboard_link}")
            return client
        except (OSError, TimeoutError) as why:
            if time.monotonic() > until:
                raise Error(f"the scheduler {scheduler} does not answer: {why}") from why
            time.sleep(0.5)
        except TypeError as why:
            if "ssl_context" not in str(why):   # Dask's word where a tls:// address comes without certificates
                raise
            raise Error(f"the scheduler {scheduler} asks for certificates: give security= (--tls-ca, --tls-cert, --tls-key)") from why


def run(spec: str | os.PathLike[str], out: str | os.PathLike[str], scheduler: str, security: Any = None, shared: bool = True,
        worker_spec: str | None = None, tries: int = 10, wait: float = 120.0, say: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Computes what is left of a specification's shards on the workers of `scheduler` ("tcp://host:8786", "tls://..").

    out: the folder of results and ledger, one that all machines see under this name; shared=False: workers send their results back, at
    most 1 MB each. security: a distributed.Security, handed through. worker_spec: where workers have the specification (default:
    where the driver has it). tries: of a shard whose worker died or whose machine failed. wait: for a scheduler that does not answer [s],
    at the start and when it is lost. say: takes lines of progress. Returns shards, done, failed (points), lost (shards given up, with
    reasons), seconds. Raises tangere.Error for a worker of another version, instruction set, specification, task or model: both are named.
    """
    if not scheduler:
        raise Error("give the address of a scheduler; none is started here")
    r = _Run(os.fspath(spec), os.fspath(out), worker_spec, shared, tries, say or (lambda line: None))
    try:
        with _event_loop() as loop:
            while r.next(0) >= 0:
                client = _connect(scheduler, security, wait, loop, r.say)
                try:
                    r.drive(client)
                except _Lost:
                    r.say("the scheduler is lost; its shards are given out again")
                    if time.monotonic() - r.moved > wait:
                        raise Error(f"the scheduler {scheduler} was lost, and no shard came in for {wait:.0f} s") from None
                finally:
                    _leave(client)
        r.tell(now=True)
    finally:
        r.ledger.sync()
        total, done, failed, best = r.ledger.total, r.ledger.done, r.ledger.failed, r.ledger.best
        r.ledger.close()
    return {"shards": total, "done": done, "failed": failed, "best": best, "seconds": time.monotonic() - r.began,
            "identity": r.shards.identity,
            "lost": {str(k): r.reasons[k] for k in sorted(r.given_up)}}


def _leave(client: Client) -> None:
    try:
        client.close(timeout=2)
    except Exception:   # of a scheduler that is gone
        pass


def _security(args: argparse.Namespace) -> Any:
    if not (args.tls_ca or args.tls_cert or args.tls_key):
        return None
    from distributed import Security
    return Security(tls_ca_file=args.tls_ca, tls_client_cert=args.tls_cert, tls_client_key=args.tls_key, require_encryption=True)


def main(argv: list[str] | None = None) -> int:
    """The command line; an exit code as of the program `tangere`."""
    p = argparse.ArgumentParser(prog="python -m tangere.cluster",
                                description="All shards of a specification on the workers of a Dask scheduler.")
    p.add_argument("specification")
    p.add_argument("--out", required=True, help="folder of results and ledger, which all machines see under this name")
    p.add_argument("--scheduler", required=True, help="tcp://host:8786 or tls://host:8786")
    p.add_argument("--send", action="store_true", help="no folder is shared: workers send results back, at most 1 MB each")
    p.add_argument("--worker-spec", help="where workers have the specification, if elsewhere")
    p.add_argument("--tries", type=int, default=10, help="of a shard whose worker died or whose machine failed")
    p.add_argument("--wait", type=float, default=120, help="for a scheduler that does not answer [s]")
    p.add_argument("--tls-ca", help="certificate of the authority")
    p.add_argument("--tls-cert", help="this machine's certificate")
    p.add_argument("--tls-key", help="its key")
    p.add_argument("--json", action="store_true", help="one machine-readable result on standard output")
    args = p.parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        result = run(args.specification, args.out, args.scheduler, _security(args), not args.send, args.worker_spec, args.tries, args.wait,
                     lambda line: print(line, file=sys.stderr, flush=True))
    except Error as why:
        print(f"tangere.cluster: {why}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", file=sys.stderr)
        return 130
    if args.json:
        best = result["best"] if math.isfinite(result["best"]) else None
        print(json.dumps(result | {"best": best}))
    for shard, why in result["lost"].items():
        print(f"shard {shard} was given up: {why}", file=sys.stderr)
    return 4 if result["lost"] else 3 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
