"""Messages out of mutated ones: commands and requests of a page of tangere.view, answers of a worker of tangere.cluster, lines of a ledger. Each is carried
out or refused with a reason, and what is refused leaves all as it was. TANGERE_LONG=1 tries a hundred times as many."""
import contextlib
import copy
import json
import math
import os
import random
import re
import socket
import threading
import urllib.parse

import pytest

import tangere as tg
from tangere._live import Live, Refused

MANY = 100 if os.environ.get("TANGERE_LONG") else 1
SCENE = """<mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="ball" pos="0.2 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body>
<body name="cart" pos="1 0 0.3"><joint name="x" type="slide" axis="1 0 0" limited="true" range="-1 1"/><geom type="box" size="0.1 0.1 0.1" mass="3"/></body></worldbody>
<actuator><motor name="push" joint="x" ctrllimited="true" ctrlrange="-2 2"/></actuator>
<keyframe><key name="up" qpos="0.2 0 0.5 1 0 0 0 0"/></keyframe></mujoco>"""
COMMANDS = [{"run": False}, {"step": 2}, {"reset": None}, {"reset": "up"}, {"speed": 0.5}, {"ctrl": {"0": 0.3}}, {"pull": None}, {"pull": {"to": [0, 0, 1]}},
            {"pull": {"body": 1, "point": [0, 0, 0], "to": [0, 0, 1], "strength": 2}}, {"goal": None}, {"run": False, "speed": 2, "step": 1},
            {"goal": {"body": 1, "of": "distance", "in": "push", "steps": 3, "target": [0, 0, 1]}}, {"goal": {"body": 2, "of": "x", "in": "controls", "steps": 3}},
            {"contact": {"word": "lcp", "options": {"push_speed": 0.5}, "dt": 0.01}}, {"contact": {"word": "softmin", "options": {}, "separate": True}},
            {"contact": {"word": "barrier", "options": {"dhat": 1e-3}}}, {"contact": {"word": "none"}}]
ODD = [None, True, False, 0, -1, 1, 3, 2**31, -2**63, 10**400, 0.0, -0.0, 1e-300, 5e-324, 1e308, -1e12, math.nan, math.inf, -math.inf, "", "0", "x", "-1", "lcp", "toi",
       "1e999", "9" * 5000, "up", "\x00", "\ud800", "ä" * 300, [], [0], [1, 2, 3], ["x", 0, 0], [[[]]], {}, {"word": "lcp"}, {"0": 1}, {"x": {"y": {}}}]


def places(of, at=()):
    """Paths of all values in lists and objects."""
    yield at
    for key, inner in of.items() if isinstance(of, dict) else enumerate(of) if isinstance(of, list) else ():
        yield from places(inner, (*at, key))


def mutated(chance, of, odd=ODD):
    """The same with none to three of its values, names or entries changed, left out or doubled."""
    of = {"": copy.deepcopy(of)}
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        all_of = list(places(of))
        *path, last = chance.choice(all_of[2:] or all_of[1:]) if chance.randrange(10) else all_of[1]   # the whole seldom
        inner = of
        for key in path:
            inner = inner[key]
        kind, other = chance.randrange(6), copy.deepcopy(chance.choice(odd))
        if kind == 0 and len(path) > 0:
            del inner[last]
        elif kind == 1 and isinstance(inner, dict) and len(path) > 0:
            inner[str(other)[:5000]] = inner.pop(last)
        elif kind == 2 and isinstance(inner[last], (dict, list)):
            inner[last].update({str(other)[:40]: other}) if isinstance(inner[last], dict) else inner[last].append(other)
        elif kind == 3 and type(inner[last]) in (int, float):
            inner[last] *= chance.choice([-1, 0, 0.5, 1e3, 1e-6, 1e150])
        else:
            inner[last] = other
    return of[""]


def state(live):
    """What a command that is refused must leave as it was."""
    with live.lock:
        sim = live.sim
        goal = live._goal.told() if live._goal is not None else None
        pull = (live._pull.body, live._pull.to.tolist(), live._pull.k) if live._pull is not None else None
        return (*(getattr(sim, name).tobytes() for name in ("qpos", "qvel", "act", "ctrl", "qfrc_applied")), sim.contact, repr(sim.contact_options), sim.dt, live.running,
                live.speed, live.time, live.failed, repr(goal), pull)


def test_commands(recwarn):
    chance, live, done, refused = random.Random(1), Live(tg.Sim(tg.loads(SCENE))), 0, 0
    try:
        for k in range(600 * MANY):
            command = mutated(chance, chance.choice(COMMANDS))
            if k % 50 == 0:
                live.do({"run": False, "reset": None, "pull": None, "goal": None, "contact": {"word": "lcp", "dt": 0.01}})
            before = state(live)
            try:
                live.do(command)
                done += 1
            except Refused as why:
                refused += 1
                assert str(why), command
                json.dumps(str(why)).encode()
                several = isinstance(command, dict) and len(command) > 1   # those before the one that is refused were carried out
                assert several or state(live) == before, command
            live.do({"run": False})
            json.dumps(live.settings(), allow_nan=False)
            json.dumps(live.wait(-1, 0)[1], allow_nan=False)
        assert all(t.is_alive() for t in live._threads)
        live.do({"reset": None, "contact": {"word": "lcp", "dt": 0.01}})
        live.do({"step": 1})
        assert live.time == pytest.approx(0.01) and not live.failed
    finally:
        live.end()
    assert done > 100 * MANY and refused > 100 * MANY, (done, refused)


# ---- requests ----

@pytest.fixture
def view(tmp_path, monkeypatch):
    (tmp_path / "viewer.html").write_text("<html><head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';\" /></head>"
                                          '<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div></html>')
    monkeypatch.setenv("TANGERE_VIEWER", str(tmp_path / "viewer.html"))
    monkeypatch.setattr("secrets.token_urlsafe", lambda n: "t" * n)   # the same requests each time
    with tg.Sim(tg.loads(SCENE)).view() as shown:
        yield shown


def answer(view, request):
    """What comes back of the bytes of a request when nothing follows them."""
    got = b""
    with socket.create_connection(("127.0.0.1", urllib.parse.urlparse(view.url).port), timeout=30) as to, contextlib.suppress(ConnectionError, BrokenPipeError):
        to.sendall(request)
        with contextlib.suppress(OSError):   # it answered and left before it read all
            to.shutdown(socket.SHUT_WR)
        while (more := to.recv(65536)):
            got += more
            if b"text/event-stream" in got:   # goes on for as long as there is a reader
                break
    return got


def changed_bytes(chance, text, words):
    text = bytearray(text)
    for _ in range(chance.randint(1, 4)):
        at, kind = chance.randrange(len(text)), chance.randrange(5)
        if kind == 0:
            text[at] = chance.randrange(256)
        elif kind == 1:
            del text[at:at + chance.randint(1, 20)]
        elif kind == 2:
            text[at:at] = chance.choice(words)
        elif kind == 3:
            text[at:at] = text[at:at + chance.randint(1, 40)]
        else:
            text[at] ^= 1 << chance.randrange(8)
        if not text:
            text = bytearray(b"\n")
    return bytes(text)


WORDS = [b"\r\n", b"\r\n\r\n", b"\n", b"\x00", b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n", b"Transfer-Encoding: chunked\r\n",
         b"Host: evil.example\r\n", b"Origin: null\r\n", b"/../", b"%00", b"A" * 70000, b"X: y\r\n" * 120, b"HTTP/0.9", b"HTTP/9.9", b"PUT ", b"[" * 5000, b"1e999", b"NaN", b"9" * 5000]
STATUSES = {"200", "400", "403", "404", "413", "414", "415", "431", "501", "505"}


def test_requests(view):
    chance, url = random.Random(2), urllib.parse.urlparse(view.url)
    head = f"Host: 127.0.0.1:{url.port}\r\nOrigin: http://127.0.0.1:{url.port}\r\n"
    statuses = {}
    for k in range(250 * MANY):
        body = json.dumps(chance.choice(COMMANDS)).encode()
        whole = [f"GET {url.path} HTTP/1.1\r\n{head}\r\n", f"GET {url.path}settings HTTP/1.1\r\n{head}\r\n",
                 f"POST {url.path}do HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"]
        of = chance.choice([0, 1, 2, 2, 2])
        request = whole[of].encode() + (body if of == 2 else b"")
        if of == 2 and k % 2:
            body = changed_bytes(chance, body, WORDS)   # with its own length
            request = re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(body), whole[2].encode()) + body
        else:
            request = changed_bytes(chance, request, WORDS)
        got = answer(view, request)
        without = not got or re.match(rb"\S+ \S+ HTTP/1\.[01]\r?\n", request) is None   # no answer to what is no request; HTTP 0.9 has no status
        status = got[9:12].decode() if got.startswith(b"HTTP/1.") else "none" if without else "?"
        statuses[status] = statuses.get(status, 0) + 1
        assert status in STATUSES | {"none"}, (request[:300], got[:300])
        assert re.search(rb'"refused": "[A-Za-z.]*(Error|Exception|Interrupt)[:"]', got) is None, (request[:300], got[-300:])
    assert {"200", "400", "403", "404"} <= set(statuses), statuses
    got = answer(view, f"GET {url.path}settings HTTP/1.1\r\n{head}\r\n".encode())
    assert got.startswith(b"HTTP/1.1 200") and json.loads(got.partition(b"\r\n\r\n")[2])
    view.do(run=False, reset=None, contact={"word": "lcp", "dt": 0.01})
    assert len([t for t in threading.enumerate() if t.name.startswith("tangere-")]) >= 3


# ---- answers of workers, and the ledger ----

MODEL = """<mujoco><option timestep="0.01"/><worldbody><body name="block"><joint name="x" type="slide" axis="1 0 0" stiffness="40"/>
<geom type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody></mujoco>"""
TASK = """model: m.xml
contact: lcp
horizon: {steps: 5}
start: {joints: [{joint: x, position: [0.6]}]}
losses: [{term: joint_position, name: x, target: [0.2], weight: 1}]
parameters: [{name: jnt_stiffness, of: x, low: 1, high: 100}]
optimizer: {method: adam, iterations: 1}
"""


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "m.xml").write_text(MODEL)
    (tmp_path / "t.yaml").write_text(TASK)
    (tmp_path / "s.yaml").write_text("task: t.yaml\njob: rollouts\nvary: [{parameter: body_mass, of: block, values: [1, 2, 3]}]\n")
    return tmp_path / "s.yaml"


def test_answers_of_workers(spec, tmp_path):
    pytest.importorskip("distributed")
    from tangere import cluster
    shards = tg.Shards(spec)
    result, data = shards.run(1, tmp_path / "own"), (tmp_path / "own" / tg.Shards.path(1)).read_bytes()
    whole = [{"result": result, "place": "here", "data": data}, {"result": result, "place": "here"}, {"shard": 1, "refused": "why"},
             {"shard": 1, "broken": "disk", "address": "tcp://x"}]
    odd = [*ODD, b"", data[:-1], data[:100], data[:50] + b"x" + data[51:], "f" * 16, "F" * 16, result, 2]
    chance, taken, refused = random.Random(3), 0, 0
    for k in range(300 * MANY):
        one = mutated(chance, chance.choice(whole), odd)
        out = tmp_path / "out"
        run = cluster._Run(str(spec), str(out), None, True, 10, lambda line: None)
        run.seen = lambda shard, place: None
        try:
            cluster._check(1, one)
            if "broken" not in one:
                run.take(1, one)
                taken += 1
        except tg.Error as why:
            refused += 1
            assert str(why), one
            assert run.ledger.done == 0 and not (out / tg.Shards.path(1)).exists(), one
        run.ledger.close()
        again = tg.ShardLedger(shards, out)   # what was written is a ledger
        assert again.done in (0, 1)
        again.close()
        for left in [out / "ledger", out / tg.Shards.path(1)]:
            left.unlink(missing_ok=True)
    assert taken > 5 and refused > 100 * MANY, (taken, refused)


def sealed(line):
    """As the ledger's lines are: with their hash (FNV-1a, 64 bits)."""
    h = 0xcbf29ce484222325
    for byte in line:
        h = (h ^ byte) * 0x100000001b3 % 2**64
    return line + b" #%016x" % h


def test_lines_of_a_ledger(spec, tmp_path):
    shards, out = tg.Shards(spec), tmp_path / "out"
    ledger = tg.ShardLedger(shards, out)
    for i in range(3):
        ledger.add(shards.run(i, out))
    ledger.close()
    text = (out / "ledger").read_bytes()
    lines = [line.rpartition(b" #")[0] for line in text.splitlines()]
    assert b"".join(sealed(line) + b"\n" for line in lines) == text
    chance, opened, refused = random.Random(4), 0, 0
    words = [b"done ", b"-1", b"2147483648", b" points ", b"0", b"ffffffffffffffff", b"7ff8000000000000", b" #", b"%s%n", b"1e9", b"\x00", b"A" * 700, b"tangere-ledger 2"]
    for k in range(400 * MANY):
        new = list(lines)
        at = chance.randrange(len(new))
        new[at] = changed_bytes(chance, new[at], words).replace(b"\n", b"")
        if chance.randrange(4) == 0:
            new.insert(chance.randrange(len(new) + 1), chance.choice(new))
        made = b"".join(sealed(line) + b"\n" for line in new)
        if chance.randrange(4) == 0:
            made = changed_bytes(chance, made, words)
        (out / "ledger").write_bytes(made)
        try:
            ledger = tg.ShardLedger(shards, out)
        except tg.Error as why:
            assert str(why) and str(out) in str(why)
            assert (out / "ledger").read_bytes() == made
            refused += 1
            continue
        opened += 1
        assert ledger.done == 3 and ledger.next() == -1 and 0 <= ledger.failed <= 2**33
        ledger.close()
        tg.ShardLedger(shards, out).close()   # and it is one still
    assert opened > 10 * MANY and refused > 100 * MANY, (opened, refused)
