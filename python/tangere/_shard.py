"""A shard on a worker of tangere.cluster."""

from __future__ import annotations

import os
import pathlib
import socket
import tempfile
import threading
import time
from typing import Any

from distributed import get_worker

from ._errors import Error
from ._tangere import Shards

SEND_BYTES = 1_000_000
"""What a worker sends back of a shard, at most."""

_BLACK_HOLE = 0.2       # a worker whose disk is full takes this long to say so, else it would draw all shards [s]
_local = threading.local()


def _shards(spec: str, identity: str) -> Shards:
    # one for each thread; read again where the file is not what the driver has
    held: dict[str, Shards] = _local.__dict__.setdefault("held", {})
    if spec not in held or held[spec].identity != identity:
        held[spec] = Shards(spec)
    return held[spec]


def write(path: pathlib.Path, data: bytes) -> None:
    """A file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name + ".tmp-", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def compute(spec: str, folder: str | None, shard: int, identity: str) -> dict[str, Any]:
    """What a worker runs. folder None: the result is sent back whole. Nothing is raised: "refused" or "broken" says why there is none."""
    place = f"{socket.gethostname()}, process {os.getpid()}"
    try:
        shards = _shards(spec, identity)
        if shards.identity != identity:
            return {"shard": shard, "refused": f"{place}: {shards.identity}"}
        if folder is not None:
            return {"result": shards.run(shard, folder), "place": place}
        with tempfile.TemporaryDirectory(prefix="tangere-shard-") as own:
            result = shards.run(shard, own)
            data = (pathlib.Path(own) / Shards.path(shard)).read_bytes()
        if len(data) > SEND_BYTES:
            return {"shard": shard, "refused": f"{place}: the result of shard {shard} is {len(data)} bytes, at most {SEND_BYTES} are sent: "
                                               "use a folder that all machines see, or a smaller group"}
        return {"result": result, "data": data, "place": place}
    except (Error, OSError) as why:
        time.sleep(_BLACK_HOLE)
        return {"shard": shard, "broken": f"{place}: {why}", "address": get_worker().address}
