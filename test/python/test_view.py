"""tangere.view: a simulation behind a page. The server's refusals, the clock, the pull, the switch of contact models, the goal's gradient."""
import base64
import http.client
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

import numpy as np
import pytest

import tangere as tg
from tangere._live import Live, Refused
from tangere.view import View, _host_is_local, _parser, main

BALL = """<mujoco><option timestep="0.01" gravity="0 0 {g}"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="ball &lt;b&gt;" pos="0.2 0 {z}"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>"""
CART = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><body name="cart"><joint name="x" type="slide" axis="1 0 0"/>
<geom type="box" size="0.1 0.1 0.1" mass="3"/></body></worldbody>
<actuator><motor name="push" joint="x" ctrllimited="true" ctrlrange="-2 2"/></actuator></mujoco>"""


def ball(z=1.0, g=-9.81, contact="lcp"):
    return tg.Sim(tg.loads(BALL.format(z=z, g=g)), contact=contact, dt=0.01)


@pytest.fixture
def live():
    made = []

    def make(sim):
        made.append(Live(sim))
        return made[-1]
    yield make
    for one in made:
        one.end()


@pytest.fixture
def page(tmp_path, monkeypatch):
    (tmp_path / "viewer.html").write_text("<html><head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';\" /></head>"
                                          '<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div></html>')
    monkeypatch.setenv("TANGERE_VIEWER", str(tmp_path / "viewer.html"))


@pytest.fixture
def view(page):
    with ball(z=0.1).view(title="a ball") as shown:
        yield shown


def ask(view, method, what, body=None, token=None, **headers):
    url = urllib.parse.urlparse(view.url)
    to = http.client.HTTPConnection("127.0.0.1", url.port, timeout=10)
    host = headers.pop("Host", f"127.0.0.1:{url.port}")
    to.putrequest(method, f"/{token or url.path.strip('/')}/{what}" if what is not None else "/", skip_host=True)
    if host is not None:
        to.putheader("Host", host)
    for name, value in headers.items():
        to.putheader(name.replace("_", "-"), value)
    if body is not None and "Content_Length" not in headers:
        to.putheader("Content-Length", str(len(body)))
    to.endheaders(body)
    reply = to.getresponse()
    text = reply.read().decode()
    to.close()
    return reply.status, text


def command(view, what, **headers):
    port = urllib.parse.urlparse(view.url).port
    return ask(view, "POST", "do", json.dumps(what).encode(), **{"Origin": f"http://127.0.0.1:{port}", "Content_Type": "application/json"} | headers)


def pictures(view, n=1):
    """The first n pictures of a connection of its own."""
    url = urllib.parse.urlparse(view.url)
    to = http.client.HTTPConnection("127.0.0.1", url.port, timeout=10)
    to.request("GET", url.path + "pictures")
    reply = to.getresponse()
    assert reply.getheader("Content-Type") == "text/event-stream"
    got = []
    while len(got) < n:
        line = reply.fp.readline()
        if line.startswith(b"data: "):
            got.append(json.loads(line[6:]))
    return got, to


def picture_at(view, t, seconds=20):
    """The first picture of that time, on a connection of its own."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        (now,), to = pictures(view)
        if now["t"] == pytest.approx(t):
            return now, to
        to.close()
    raise AssertionError(f"no picture at {t} s")


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(-1, 3)


# ---- who is let in ----

def test_page_and_settings(view):
    status, text = ask(view, "GET", "")
    assert status == 200 and '<meta name="tangere-view" content="1">' in text and "default-src 'none'; connect-src 'self';" in text
    assert '"a ball"' in text and "ball \\u003cb\\u003e" in text and "<b>" not in text
    status, text = ask(view, "GET", "settings")
    told = json.loads(text)
    assert status == 200 and told["contact"] == "lcp" and told["models"] == ["none", *tg.contact_models()]
    assert told["moves"] == [False, True] and told["weight"] == pytest.approx(2 * 9.81)
    assert told["values"]["push_speed"] == tg.Sim(tg.loads(BALL.format(z=1, g=0))).contact_options["push_speed"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil:80", "", "10.0.0.1", "127.0.0.1:80:80", "localhost:x", None])
def test_other_hosts_are_refused(view, host):
    assert ask(view, "GET", "", Host=host)[0] == 403 if host is not None else ask(view, "GET", "", Host=None)[0] in (400, 403)


def test_own_names_are_not():
    assert all(_host_is_local(h) for h in ("127.0.0.1:8765", "localhost:9000", "localhost", "[::1]:1", "[::1]"))   # another port: forwarded
    assert not any(_host_is_local(h) for h in ("", ":1", "::1", "x", "[::1", "127.0.0.1:-1", "[::1]x", "localhost.:1"))


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1", "http://localhost:1", ""])
def test_other_origins_are_refused(view, origin):
    assert command(view, {"run": True}, Origin=origin)[0] == 403
    assert ask(view, "GET", "settings", Origin=origin)[0] == 403
    assert not view._live.running


def test_command_without_origin_type_or_size_is_refused(view):
    port = urllib.parse.urlparse(view.url).port
    own = {"Origin": f"http://127.0.0.1:{port}"}
    assert ask(view, "POST", "do", b'{"run": true}', Content_Type="application/json")[0] == 403
    assert ask(view, "POST", "do", b'{"run": true}', Content_Type="text/plain", **own)[0] == 415
    assert command(view, {"run": True}, Content_Length="70000")[0] == 413
    assert command(view, {"run": True}, Content_Length="-1")[0] == 413
    assert ask(view, "POST", "do", b"[" * 60000, Content_Type="application/json", **own)[0] == 400
    assert ask(view, "POST", "do", b"\xff", Content_Type="application/json", **own)[0] == 400
    assert ask(view, "POST", "", b"{}", Content_Type="application/json", **own)[0] == 404
    assert not view._live.running
    assert command(view, {"run": True}) == (200, "{}") and view._live.running


def test_other_tokens_and_paths_are_refused(view):
    token = urllib.parse.urlparse(view.url).path.strip("/")
    assert len(token) >= 32
    for other in ("x", token[:-1], token + "x", token.swapcase(), token.encode().hex(), "%" + token, "\u00e9"):
        assert ask(view, "GET", "", token=urllib.parse.quote(other))[0] == 404, other
    for what in (None, "..", "../etc/passwd", "%2e%2e/", "settings/", "settings?x", "/settings", "viewer.html"):
        assert ask(view, "GET", what)[0] == 404, what
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"):
        assert ask(view, method, "")[0] == 501


def test_only_this_machine(view):
    address = view._server.socket.getsockname()
    assert address[0] == "127.0.0.1"
    with pytest.raises(tg.Error, match="no port"):
        ball().view(port=address[1])
    with pytest.raises(ValueError, match="no port 70000"):
        ball().view(port=70000)


# ---- what is seen ----

def test_pictures_are_the_simulation(view):
    (first,), one = pictures(view)
    own = ball(z=0.1)
    own.forward()
    np.testing.assert_allclose(floats(first["pos"]), own.field("xpos"), atol=1e-6)
    assert first["t"] == 0 and not first["running"] and first["viewers"] == 1
    assert command(view, {"step": 3})[0] == 200
    for _ in range(3):
        own.step()
    np.testing.assert_array_equal(view.sim().qpos, own.qpos)   # the same steps to the bit
    np.testing.assert_array_equal(view.sim().qvel, own.qvel)
    now, two = picture_at(view, 0.03)
    assert now["viewers"] >= 2   # both see the one simulation
    contact = floats(now["contacts"])
    np.testing.assert_allclose(contact[1], [0, 0, 2 * 9.81], rtol=1e-5)   # at rest: its weight, on what moves
    np.testing.assert_allclose(contact[0], [0.2, 0, 0], atol=1e-5)
    one.close()
    two.close()


def test_time_passes_as_it_is_told(view):
    view.do(speed=2, run=True)
    time.sleep(0.5)
    view.do(run=False)
    assert 0.3 < view._live.time < 2.5   # 1.0 on a machine that is free
    before = view._live.time
    time.sleep(0.1)
    assert view._live.time == before
    for bad in (0, -1, 1e9, float("nan"), "1", None, True):
        with pytest.raises(ValueError, match="speed"):
            view.do(speed=bad)


def test_commands_that_cannot_be_had(live):
    one = live(tg.Sim(tg.loads(CART)))
    for bad, why in (([], "object"), ({}, "object"), ({"fly": 1}, "nothing called"), ({"run": 1}, "run"), ({"step": 0}, "step"), ({"reset": "x"}, "keyframe"),
                     ({"ctrl": {"1": 0}}, "actuator"), ({"ctrl": {"0": float("inf")}}, "ctrl"), ({"ctrl": {"-1": 1}}, "actuator"), ({"ctrl": [1]}, "ctrl"),
                     ({"pull": {"body": 0, "point": [0, 0, 0], "to": [0, 0, 0]}}, "does not move"), ({"pull": {"body": 1, "point": [0, 0], "to": [0, 0, 0]}}, "three"),
                     ({"pull": 1}, "pull"), ({"goal": {"body": 9, "of": "x"}}, "no body"), ({"goal": {"body": 1, "of": "w"}}, "of is"),
                     ({"goal": {"body": 1, "of": "x", "steps": 10 ** 9}}, "steps"), ({"goal": {"body": 1, "of": "x", "in": "y"}}, "in is"),
                     ({"contact": "lcp"}, "word"), ({"contact": {"word": "lcp", "options": {"nix": 1}}}, "nix"), ({"contact": {"word": "nix"}}, "nix"),
                     ({"contact": {"word": "lcp", "dt": -1}}, "dt")):
        with pytest.raises(Refused, match=why):
            one.do(bad)
    assert one.sim.contact == "lcp" and one.time == 0 and not one.running and one._pull is None and one._goal is None
    one.do({"ctrl": {"0": 1.5}, "step": 1})
    assert one.sim.ctrl[0] == 1.5 and one.sim.qvel[0] == pytest.approx(1.5 * 0.01 / 3)


# ---- pulled at ----

def test_pull_holds_a_weight(live):
    """A spring of angular frequency 10 rad/s, critically damped, lets what hangs on it sink by g / 100."""
    one = live(ball(z=1))
    one.do({"pull": {"body": 1, "point": [0, 0, 0], "to": [0.2, 0, 2]}, "step": 300})
    assert one.sim.qpos[2] == pytest.approx(2 - 9.81 / 100, abs=1e-4)
    assert one._pull.force == pytest.approx([0, 0, 2 * 9.81], abs=1e-2)
    one.do({"pull": {"to": [0.2, 0, 3]}, "step": 300})
    assert one.sim.qpos[2] == pytest.approx(3 - 9.81 / 100, abs=1e-4)
    one.do({"pull": None, "step": 1})
    assert not one.sim.qfrc_applied.any() and one.sim.qvel[2] == pytest.approx(-9.81 * 0.01, rel=1e-3)


def test_pull_off_centre_turns(live):
    one = live(ball(z=1, g=0))
    one.do({"pull": {"body": 1, "point": [0.1, 0, 0], "to": [0.3, 0, 1.5]}, "step": 1})
    f = one._pull.force
    assert f[2] > 0 and one.sim.qvel[2] == pytest.approx(0.01 * f[2] / 2)
    assert one.sim.qvel[4] == pytest.approx(-0.01 * 0.1 * f[2] / (0.4 * 2 * 0.1 ** 2))   # torque r x f over the sphere's inertia


def test_pull_holds_a_point_of_the_body(live):
    """A quarter turn about z takes the body's x to the world's y."""
    sim = ball(z=1, g=0)
    sim.qpos[3:] = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    one = live(sim)
    one.do({"pull": {"body": 1, "point": [0.1, 0, 0], "to": [0, 0, 0]}})
    assert one._pull.at == pytest.approx([0.2, 0.1, 1])


# ---- contact models switched ----

def test_switch_keeps_state_and_parameters(live):
    sim = ball(z=0.5)
    sim.set_param("body_mass", np.array([0.0, 5.0]))
    one = live(sim)
    one.do({"step": 5})
    q, v = one.sim.qpos.copy(), one.sim.qvel.copy()
    one.do({"contact": {"word": "softmin", "options": {"slip_speed": "0.02"}, "dt": 0.002}})
    assert one.sim.contact == "softmin" and one.sim.contact_options["slip_speed"] == 0.02 and one.sim.dt == 0.002 and one.sim.param("body_mass")[1] == 5
    np.testing.assert_array_equal(one.sim.qpos, q)
    np.testing.assert_array_equal(one.sim.qvel, v)
    one.do({"contact": {"word": "none"}})
    assert one.sim.contact == "none" and one.sim.dt == 0.002


def test_switch_that_fails_says_why_and_keeps_the_old_one(live):
    one = live(ball(z=0.09))
    with pytest.raises(Refused, match="barrier cannot go on from here, lcp stays: .*(overlap|reaches)"):
        one.do({"contact": {"word": "barrier"}})
    assert one.sim.contact == "lcp" and one.sim.qpos[2] == 0.09
    one.do({"contact": {"word": "barrier", "separate": True}})
    assert one.sim.contact == "barrier" and one.sim.qpos[2] > 0.1
    one.do({"step": 2})
    assert one.failed == ""


def test_what_diverges_stops_with_its_reason_and_can_be_reset(live):
    one = live(tg.Sim(tg.loads(CART), dt=0.01))
    one.sim.qvel[0] = np.nan
    one.do({"run": True})
    for _ in range(100):
        time.sleep(0.02)
        if not one.running:
            break
    assert not one.running and one.frame["failed"] != "" and one.time == 0
    one.do({"reset": None, "step": 2})
    assert one.failed == "" and one.time == pytest.approx(0.02) and one.sim.qvel[0] == 0


# ---- the gradient ----

def found(one, goal, seconds=20):
    one.do({"goal": goal})
    end = time.monotonic() + seconds
    while (one.frame["goal"] is None or one.frame["settings"] != one.changed) and time.monotonic() < end:
        time.sleep(0.01)
    return one.frame["goal"]


def test_gradient_of_free_flight(live):
    """x after n steps rises by n h / m with an impulse, by 1 with the place."""
    one = live(ball(z=5))
    g = found(one, {"body": 1, "of": "x", "steps": 20})
    assert g["label"] == "exact" and g["value"] == pytest.approx(0.2)
    np.testing.assert_allclose(floats(g["arrows"]), [[0, 0, 0], [20 * 0.01 / 2, 0, 0]], atol=1e-7)
    np.testing.assert_allclose(floats(g["at"])[1], [0.2, 0, 5], atol=1e-6)
    g = found(one, {"body": 1, "of": "distance", "target": [0.2, 0, 0], "steps": 1, "in": "place"})
    np.testing.assert_allclose(floats(g["arrows"]), [[0, 0, 0], [0, 0, 1]], atol=1e-6)


def test_gradient_in_held_controls(live):
    """A cart of mass m under u: v_k = k h u / m, so x_n = h^2 u n (n + 1) / (2 m)."""
    one = live(tg.Sim(tg.loads(CART), dt=0.01))
    one.do({"ctrl": {"0": 1.0}})
    g = found(one, {"body": 1, "of": "x", "steps": 10})
    assert one.frame["settings"] == one.changed
    turned = found(one, {"body": 1, "of": "x", "steps": 10, "in": "controls"})
    np.testing.assert_allclose(floats(turned["arrows"]), [[0, 0, 0], [1e-4 * 55 / 3, 0, 0]], rtol=1e-6)   # along the slide
    assert g["value"] == pytest.approx(1e-4 * 55 / 3) and g["controls"] == pytest.approx([1e-4 * 55 / 3], rel=1e-9)


def test_gradient_of_a_push_through_contact(cheetah, live):
    """Against central differences of the goal over impulses on one leg, in contact."""
    sim = tg.Sim(cheetah, contact="softmin", dt=0.001)
    for _ in range(200):
        sim.step()
    shin, n, h = cheetah.find("body", "bshin"), 10, 1e-6
    assert sim.contacts()["world"][:, 2].max() > 1   # a foot carries weight
    one = live(sim)
    g = found(one, {"body": 1, "of": "z", "steps": n})
    sim = one.copy()
    sim.forward()
    J, M, v = sim.body_jacobian(shin, sim.field("xcom")[shin])[3:], sim.field("M"), sim.qvel.copy()
    own = []
    for p in np.eye(3):
        z = []
        for sign in (1, -1):
            roll = sim.rollout(u=np.zeros((n, cheetah.nu)), v0=v + sign * h * np.linalg.solve(M, J.T @ p))
            sim2 = one.copy()
            sim2.qpos[:] = roll.q[-1]
            sim2.forward()
            z.append(sim2.field("xpos")[1, 2])
        own.append((z[0] - z[1]) / (2 * h))
    np.testing.assert_allclose(floats(g["arrows"])[shin], own, rtol=1e-5, atol=1e-6 * np.abs(own).max())


def test_gradient_that_fails_says_why(live):
    sim = ball(z=1)
    sim.qvel[:] = np.nan
    g = found(live(sim), {"body": 1, "of": "x", "steps": 20})
    assert g["error"] != ""


# ---- its life ----

def test_view_ends(page):
    before = threading.active_count()
    sim = ball()
    shown = sim.view()
    assert f'src="{shown.url}"' in shown._repr_html_() and shown.url in repr(shown)
    (_,), to = pictures(shown)
    shown.do(run=True)
    start = time.monotonic()
    shown.close()
    shown.close()
    assert time.monotonic() - start < 5 and "closed" in repr(shown) and sim.qpos[2] == 1   # the sim itself stays as it is
    to.close()
    with pytest.raises(tg.Error, match="closed"):
        shown.sim()
    with pytest.raises(OSError):
        ask(shown, "GET", "")
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.05)
    assert threading.active_count() <= before
    with pytest.raises(TypeError, match="Sim"):
        View("no")


def test_view_of_a_task(page, models):
    sim = tg.Task(models / "half_cheetah_reach.yaml").sim()
    with sim.view() as shown:
        assert shown.sim().contact == sim.contact
        np.testing.assert_array_equal(shown.sim().qpos, sim.qpos)


def test_without_the_page(monkeypatch, tmp_path):
    monkeypatch.setenv("TANGERE_VIEWER", str(tmp_path / "viewer.html"))
    (tmp_path / "viewer.html").write_text('<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>')
    with pytest.raises(tg.Error, match="viewer.html is not one of this version"):
        ball().view()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_the_command(page, tmp_path, how):
    file = tmp_path / "ball.xml"
    file.write_text(BALL.format(z=1, g=-9.81))
    run = subprocess.Popen([sys.executable, "-m", "tangere.view", str(file), "--contact", "softmin", "--dt=0.001"], stderr=subprocess.PIPE, text=True,
                           env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    line = run.stderr.readline()
    assert line.startswith("open http://127.0.0.1:") and line.endswith("/ in a browser; Ctrl-C ends\n"), line
    run.send_signal(how)
    _, rest = run.communicate(timeout=20)
    assert run.returncode == 0 and rest == "", rest


def test_pictures_are_json_whatever_the_state(live):
    sim = tg.Sim(tg.loads(CART), dt=0.01)
    one = live(sim)
    one.do({"pull": {"body": 1, "point": [0, 0, 0], "to": [1, 0, 0]}})
    one.sim.qvel[:], one.sim.ctrl[:] = np.nan, np.inf
    one.do({"step": 1})
    assert one.failed != ""
    for _ in range(100):
        if one.frame["failed"]:
            break
        time.sleep(0.02)
    json.dumps(one.frame, allow_nan=False)
    with pytest.raises(Refused, match="pull: .*not a finite number"):
        one.do({"pull": {"body": 1, "point": [0, 0, 0], "to": [1, 0, 0]}})
    json.dumps(one.settings(), allow_nan=False)


def test_the_program_becomes_the_package():
    from tangere import _program
    env = {k: v for k, v in _program.environ().items() if k not in os.environ} | dict(os.environ)
    if "TANGERE_PYTHON" not in os.environ:
        assert env["TANGERE_PYTHON"] == sys.executable
    done = subprocess.run([_program.path(), "view", "nofile.xml"], env=env | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("tangere view: nofile.xml"), done.stderr


def test_words_of_the_command_line_are_read():
    """Those that test_cli.py has the program hand over."""
    words = ["--contact=barrier", "--option=weight=1e-6", "--dt=0.01", "--key=home", "--inside-limits", "--separate", "--port=8800",
             "--lenient", "--drop=hfield", "--repair", "--decompose", "--ground=-0.5", "--fixed-base", "--contact-triangles=200", "--exclude-overlapping",
             "--asset-root=/x", "--package=p=/y", "--allow-absolute", "--decompose-threshold=0.1", "--", "a b.xml"]
    a = _parser().parse_args(words)
    assert a.file == "a b.xml" and dict(a.option) == {"weight": "1e-6"} and a.dt == 0.01 and a.separate == -1 and a.ground == "-0.5" and a.drop == ["hfield"]
    assert a.contact_triangles == 200 and dict(a.package) == {"p": "/y"} and a.asset_root == ["/x"] and a.exclude_overlapping and a.inside_limits
    assert a.allow_absolute and a.decompose_threshold == 0.1 and _parser().parse_args(["--ground", "--", "x"]).ground == "0"
    assert _parser().parse_args(["--ground=below", "--", "-x"]).file == "-x"


def test_every_option_of_the_program_is_one_of_the_package():
    from tangere import _program
    env = os.environ | _program.environ() | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    listed = subprocess.run([_program.path(), "view", "--help"], env=env, capture_output=True, text=True, check=True).stdout
    theirs = {word for line in listed.splitlines() if line.startswith("  --") for word in [line.split()[0].split("[")[0]]}
    ours = {word for action in _parser()._actions for word in action.option_strings}
    assert len(theirs) >= 19 and theirs == ours - {"-h", "--help"}


def test_absolute_paths_where_they_are_allowed(tmp_path):
    """A mesh by its absolute path: refused, and loaded by word from below a root."""
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (tmp_path / "m.xml").write_text(f"""<mujoco><asset><mesh name="m" file="{tmp_path}/m.obj"/></asset><worldbody><body><freejoint/>
<geom type="mesh" mesh="m"/></body></worldbody></mujoco>""")
    with pytest.raises(tg.Error, match="absolute"):
        tg.load(tmp_path / "m.xml")
    model = tg.load(tmp_path / "m.xml", allow_absolute=True, asset_roots=[str(tmp_path)])
    assert pickle.loads(pickle.dumps(model)).names("mesh") == ["m"]
    told = tg.load(tmp_path / "m.xml", allow_absolute=True, asset_roots=[str(tmp_path)], ground=-1e-7, decompose=True, decompose_threshold=1 / 30)._source[2]
    assert "--allow-absolute" in told
    assert [float(word.split("=")[1]) for word in told if "=" in word] == [1 / 30, -1e-7]   # to the last digit
    with pytest.raises(ValueError, match="decompose_threshold"):
        tg.load(tmp_path / "m.xml", decompose_threshold=2)


@pytest.mark.parametrize("words, why", [(["nofile.xml"], "nofile.xml"), (["MODEL", "--contact", "nix"], "nix"), (["MODEL", "--key", "nix"], "nix"),
                                        (["MODEL", "--option", "nix=1"], "nix"), (["TASK", "--key", "nix"], "not for a task")])
def test_bad_words_are_told(page, models, capsys, monkeypatch, words, why):
    monkeypatch.setattr(signal, "signal", lambda *args: None)   # it takes SIGTERM for itself
    places = {"MODEL": str(models / "half_cheetah.xml"), "TASK": str(models / "half_cheetah_reach.yaml")}
    assert main([places.get(w, w) for w in words]) == 2
    assert why in capsys.readouterr().err
