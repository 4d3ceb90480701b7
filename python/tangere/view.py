"""A simulation to look at while it runs, and to pull at: a page in the browser, served by this process to this machine.

    view = sim.view()           # or tangere.view.view(sim)
    view                        # the last line of a notebook's cell: the page appears below it
    print(view.url)             # http://127.0.0.1:8765/TOKEN/
    view.wait()                 # in a script: until Ctrl-C
    now = view.sim()            # a tangere.Sim as it is now, to go on with
    view.close()

`tangere view FILE` on the command line is the same. The server listens on 127.0.0.1 alone, knows one address, which holds a token made
for it, and refuses other hosts, origins and paths; the page fetches nothing from elsewhere (docs/live.md).
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import hmac
import html
import http.server
import json
import pathlib
import secrets
import signal
import socket
import socketserver
import sys
import tempfile
import threading
import time
import weakref
from typing import Any

import numpy as np

from ._errors import Error
from ._live import Live, Refused, twin
from ._tangere import Sim, Task, load
from .notebook import _viewer

__all__ = ["View", "view"]

FIRST_PORT, PORTS = 8765, 20
MOST_BYTES = 65536       # of a command
MOST_CONNECTIONS = 32    # at a time
QUIET = 30.0             # what says nothing for so long is closed [s]
LOCAL = ("127.0.0.1", "localhost", "[::1]")   # by any port: that of a forwarding is another one


def _page(sim: Sim, title: str) -> bytes:
    """The replay's page with the model in it, told that it is live and allowed to ask this server."""
    still = twin(sim, "none")
    with tempfile.TemporaryDirectory(prefix="tangere-") as folder:
        path = pathlib.Path(folder) / "view.html"
        still.rollout(steps=1).write_replay(str(path), title, _viewer())
        text = path.read_text(encoding="utf-8")
    closed = "default-src 'none';"
    if text.count(closed) != 1 or "<head>" not in text:
        raise Error("the replay's viewer.html is not one of this version: `make viewer` makes it anew")
    text = text.replace(closed, f"{closed} connect-src 'self';").replace("<head>", '<head><meta name="tangere-view" content="1">', 1)
    return text.encode("utf-8")


def _host_is_local(host: str) -> bool:
    name, colon, port = host.rpartition(":")
    if host.endswith("]") or not colon:
        name, port = host, ""
    return name in LOCAL and (not colon or port == "" or port.isdigit())


class _Handler(http.server.BaseHTTPRequestHandler):
    """One request: GET of the page, of its settings and of its pictures as they come; POST of a command. Nothing else is there."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tangere", ""
    timeout = QUIET
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def _reply(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self._headers(kind)
        self.send_header("Content-Length", str(len(body)))
        if code >= 400:
            self.close_connection = True   # what may follow of the request is not read
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _headers(self, kind: str) -> None:
        for name, value in (("Content-Type", kind), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
                            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
                            ("Content-Security-Policy", "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview:")):
            self.send_header(name, value)

    def _say(self, code: int, text: str) -> None:
        self._reply(code, "text/plain; charset=utf-8", (text + "\n").encode("utf-8"))

    def _refused(self, command: bool) -> bool:
        """Answers who may not ask: a page of elsewhere, whatever name it has this address by; who does not know the token."""
        host, origin = self.headers.get_all("Host", []), self.headers.get("Origin")
        if len(host) != 1 or not _host_is_local(host[0]):
            self._say(403, "not from here")
        elif (command and origin is None) or (origin is not None and origin != f"http://{host[0]}"):
            self._say(403, "not from there")
        elif not hmac.compare_digest(self.path[1:].partition("/")[0].encode("utf-8"), self.server.token.encode("ascii")):
            self._say(404, "not here")
        else:
            return False
        return True

    @property
    def _what(self) -> str:
        return self.path[1:].partition("/")[2] if self.path.count("/") > 1 else "?"

    def do_GET(self) -> None:
        """The page, its settings, or pictures until the page goes."""
        if self._refused(False):
            return
        if self._what == "":
            self._reply(200, "text/html; charset=utf-8", self.server.page)
        elif self._what == "settings":
            self._reply(200, "application/json", json.dumps(self.server.live.settings()).encode("utf-8"))
        elif self._what == "pictures":
            self._pictures()
        else:
            self._say(404, "not here")

    def _pictures(self) -> None:
        """Server-sent events: whoever is slow gets the newest, not all."""
        self.send_response(200)
        self._headers("text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        seen, live = -1, self.server.live
        with self.server.looking():
            while not live.ended:
                number, frame = live.wait(seen, 5)
                if live.ended:
                    break
                text = json.dumps({"n": number, "viewers": self.server.viewers, **frame}) if number != seen else None
                self.wfile.write(f"data: {text}\n\n".encode() if text else b": still here\n\n")
                seen = number
            self.wfile.write(b"event: end\ndata: {}\n\n")

    def do_POST(self) -> None:
        """A command as JSON; {} or {"refused": why}."""
        if self._refused(True):
            return
        length = self.headers.get("Content-Length", "")
        if self._what != "do":
            self._say(404, "not here")
        elif self.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            self._say(415, "application/json is needed")
        elif not (length.isascii() and length.isdigit()) or int(length) > MOST_BYTES:
            self._say(413, f"at most {MOST_BYTES} bytes are taken, their number said before")
        else:
            self._answer(self.rfile.read(int(length)))

    def _answer(self, body: bytes) -> None:
        try:
            wanted = json.loads(body)
        except (ValueError, RecursionError):
            self._say(400, "this is no JSON")
            return
        try:
            self.server.live.do(wanted)
            out: dict[str, str] = {}
        except Refused as why:
            out = {"refused": str(why)}
        except Exception as fault:   # of ours: the page says it, and the simulation stays
            out = {"refused": f"{type(fault).__name__}: {fault}"}
        self._reply(200, "application/json", json.dumps(out).encode("utf-8"))


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, port: int, live: Live, page: bytes) -> None:
        self.live, self.page, self.token, self.viewers = live, page, secrets.token_urlsafe(24), 0
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._count = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        """Without a look-up of this machine's name, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, where there is room for one."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Gives the room back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away; nothing is printed."""

    @contextlib.contextmanager
    def looking(self) -> Any:
        """Counts a page that is open."""
        with self._count:
            self.viewers += 1
        try:
            yield
        finally:
            with self._count:
                self.viewers -= 1


def _listen(port: int, live: Live, page: bytes) -> _Server:
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise ValueError(f"port: there is no port {port}")
    why: OSError | None = None
    for p in [port] if port else range(FIRST_PORT, FIRST_PORT + PORTS):
        try:
            return _Server(p, live, page)
        except OSError as failed:
            why = failed
    raise Error(f"no port of 127.0.0.1 from {port or FIRST_PORT} on can be had: {why}")


_open: weakref.WeakSet[View] = weakref.WeakSet()


@atexit.register
def _end() -> None:
    """No thread is in the engine when the interpreter goes."""
    for one in list(_open):
        one.close()


class View:
    """A page that shows a copy of a simulation while it runs. Made by Sim.view, view, or the command line; close ends it, as does the
    end of a with block or of the process.

    url: the page's address, of this machine alone; it holds the token that lets one in, so whoever has it may look and steer.
    height: of the page in a notebook, pixels.
    """

    def __init__(self, sim: Sim, *, port: int = 0, title: str = "", height: int = 640) -> None:
        if not isinstance(sim, Sim):
            raise TypeError(f"sim: a Sim is needed, not {type(sim).__name__}")
        name = title or pathlib.Path(sim.model.path).stem or "simulation"
        page = _page(sim, name)
        self.height = int(height)
        self._live = Live(twin(sim))
        try:
            self._server = _listen(port, self._live, page)
        except BaseException:
            self._live.end()
            raise
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="tangere-view", daemon=True)
        self._thread.start()
        _open.add(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}/{self._server.token}/"

    @property
    def viewers(self) -> int:
        """Pages that are open: all show and steer the one simulation."""
        return self._server.viewers

    def sim(self) -> Sim:
        """A Sim as the page's is now, with its contact model, parameters, state and controls; the page's goes on by itself. tangere.Error:
        the view is closed."""
        if self._live.ended:
            raise Error("this view is closed")
        return self._live.copy()

    def do(self, **commands: Any) -> None:
        """What the page can ask for: run=True, step=10, reset=None, speed=0.5, ctrl={0: 0.3}, contact={"word": "barrier"},
        goal={"body": 1, "of": "x", "steps": 25}, pull={"body": 1, "point": [0, 0, 0], "to": [0, 0, 1]} and pull=None. ValueError says
        what cannot be had and leaves all as it was."""
        self._live.do(commands)

    def wait(self) -> None:
        """Until close, or until Ctrl-C, which closes it."""
        try:
            while not self._live.ended:
                time.sleep(0.1)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Ends server and simulation. The page says that it is no longer live."""
        if self._live.ended:
            return
        self._live.end()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def __enter__(self) -> View:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        # an origin of its own: nothing of the notebook can be reached from it
        url = html.escape(self.url)
        return (f'<iframe src="{url}" sandbox="allow-scripts allow-same-origin" style="width: 100%; height: {self.height}px; '
                f'border: 1px solid #8884" title="Tangere"></iframe>'
                f'<div><a href="{url}" target="_blank" rel="noreferrer">in a window of its own</a></div>')

    def __repr__(self) -> str:
        return f"<tangere.View {'closed' if self._live.ended else self.url}>"


def view(sim: Sim, *, port: int = 0, title: str = "") -> View:
    """Shows a copy of a simulation in the browser; open the View's url there. sim itself stays as it is.

    port: of 127.0.0.1; 0: the first free one from 8765. title: of the page; '': the name of the model's file. Raises tangere.Error when
    no port can be had, FileNotFoundError when the viewer's page is not built."""
    return View(sim, port=port, title=title)


# ---- the command line ----

def _value(text: str) -> Any:
    name, _, value = text.partition("=")
    return name, value


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m tangere.view", description="What `tangere view` runs; its options are there.")
    p.add_argument("file")
    for word in ("contact", "key"):
        p.add_argument(f"--{word}")
    p.add_argument("--option", action="append", default=[], type=_value)
    p.add_argument("--dt", type=float)
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--separate", type=float, nargs="?", const=-1.0, help="gap [m]; below 0: the contact model's own")
    p.add_argument("--ground", nargs="?", const="0")
    p.add_argument("--decompose-threshold", type=float, default=0.0)
    p.add_argument("--contact-triangles", type=int, default=0)
    for word in ("drop", "asset-root"):
        p.add_argument(f"--{word}", action="append", default=[])
    p.add_argument("--package", action="append", default=[], type=_value)
    for word in ("lenient", "repair", "decompose", "fixed-base", "exclude-overlapping", "inside-limits", "allow-absolute"):
        p.add_argument(f"--{word}", action="store_true")
    return p


def _sim(a: argparse.Namespace) -> Sim:
    if a.file.endswith((".yaml", ".yml")):
        given = [w for w in ("key", "ground", "separate", "dt") if getattr(a, w) is not None]
        if given:
            raise Error(f"--{given[0]} is not for a task, which says it itself")
        made = Task(a.file).sim()
        return twin(made, a.contact or made.contact, dict(a.option)) if a.contact or a.option else made
    ground: Any = False if a.ground is None else "below" if a.ground == "below" else float(a.ground)
    model = load(a.file, lenient=a.lenient, drop=a.drop, repair=a.repair, decompose=a.decompose, fixed_base=a.fixed_base, ground=ground,
                 exclude_overlapping=a.exclude_overlapping, contact_triangles=a.contact_triangles, asset_roots=a.asset_root,
                 packages=dict(a.package), allow_absolute=a.allow_absolute, decompose_threshold=a.decompose_threshold)
    sim = Sim(model, contact=a.contact or "lcp", dt=a.dt, **dict(a.option))
    if a.key is not None:
        sim.reset(a.key)
    if a.inside_limits:
        sim.qpos[:] = model.inside(np.array(sim.qpos))
    if a.separate is not None:
        sim.separate(None if a.separate < 0 else a.separate)
    return sim


def main(argv: list[str] | None = None) -> int:
    """The command line; an exit code as of the program `tangere`."""
    a = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    shown: View | None = None
    try:
        shown = view(_sim(a), port=a.port)
        print(f"open {shown.url} in a browser; Ctrl-C ends", file=sys.stderr, flush=True)
        shown.wait()
    except (Error, ValueError, KeyError, OSError) as why:
        print(f"tangere view: {why.args[0] if isinstance(why, KeyError) else why}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130 if shown is None else 0   # the way that it ends
    finally:
        if shown is not None:
            shown.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
