"""A simulation that runs by itself behind a page: its clock, a pull at a body, its contact model, the gradient of a goal.

Knows nothing of how it is shown: `view` hands it what the page asks for and takes what it published. One lock guards the simulation; the
gradient is taken on a twin of it, in a thread of its own, so that the motion does not wait."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import Error
from ._tangere import Model, Sim, contact_models, contact_options

FRAMES = 60            # pictures a second
BUSY = 0.8 / FRAMES    # of each picture, the longest time that its steps may take [s]; the page says how slow it then is
SPEEDS = (0.01, 10.0)
LONGEST_GOAL = 2000    # steps
STATE = ("qpos", "qvel", "act", "ctrl", "qfrc_applied")
PULL = 10.0            # angular frequency of the spring that pulls [rad/s]


class Refused(ValueError):
    """What the page asked for and cannot be had; the text says why."""


def _words(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode("ascii")


def _plain_numbers(array: np.ndarray[Any, Any]) -> list[float]:
    """As JSON takes them: what is not finite is 0, or the largest number."""
    return [float(x) for x in np.nan_to_num(array)]


def _shown(value: Any) -> str:
    """What was given, in a refusal."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):   # of no JSON, an integer of thousands of digits, lists in lists in lists
        text = type(value).__name__
    return text[:60]


def _number(value: Any, what: str, least: float = -math.inf, most: float = math.inf) -> float:
    number = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):   # an integer of hundreds of digits
            number = float(value)
    if not (math.isfinite(number) and least <= number <= most):
        bounds = f" from {least:g} to {most:g}" if math.isfinite(least) else ""
        raise Refused(f"{what}: a number{bounds} is needed, not {_shown(value)}")
    return number


def _point(value: Any, what: str) -> np.ndarray[Any, Any]:
    if not isinstance(value, list) or len(value) != 3:
        raise Refused(f"{what}: three numbers are needed")
    return np.array([_number(x, what) for x in value])


def recipe(sim: Sim, contact: str | None = None, options: dict[str, Any] | None = None, dt: float | None = None) -> Callable[[], Sim]:
    """What makes a Sim of the same model and parameters, under the same contact model with its options or under another one. To make a
    contact model may take its time, and nothing of sim is needed then."""
    same = contact is None
    word, given = (sim.contact, _given(sim.contact_options)) if contact is None else (contact, dict(options or {}))
    model, step = sim.model, sim.dt if dt is None else dt
    values = {n: sim.param(n) for n in sim.param_names if n != "opt_timestep" and (same or not n.startswith("contact."))}

    def make() -> Sim:
        made = Sim(model, contact=None if word == "none" else word, dt=step, **given)
        for name, value in values.items():
            if not np.array_equal(value, made.param(name)):
                made.set_param(name, value)
        return made
    return make


def twin(sim: Sim, contact: str | None = None, options: dict[str, Any] | None = None) -> Sim:
    """Such a Sim, in the same state."""
    made = recipe(sim, contact, options)()
    copy_state(sim, made)
    return made


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if not (isinstance(value, float) and not math.isfinite(value))}


def copy_state(source: Sim, to: Sim) -> None:
    """State, controls and generalised forces."""
    for name in STATE:
        getattr(to, name)[:] = getattr(source, name)


class Bodies:
    """What of a model is asked for with every picture."""

    def __init__(self, model: Model) -> None:
        self.names = [name or f"body {i}" for i, name in enumerate(model.names("body"))]
        self.moves = model.field("body_weld") != 0
        self.root = model.field("body_root")
        self.mass = model.field("body_mass")
        gravity = np.asarray(model.field("opt_gravity")).ravel()
        self.g = float(np.linalg.norm(gravity))
        self.up = -gravity / self.g if self.g > 0 else np.array([0.0, 0.0, 1.0])
        self.weight = float(self.mass[self.moves].sum()) * self.g
        self.free = self._free(model)
        self.driven = self._driven(model)

    @staticmethod
    def _free(model: Model) -> dict[int, int]:
        """Bodies that a free joint moves: where its velocity begins."""
        if "jnt_type" not in model.fields():
            return {}
        kind, body, vadr = (np.asarray(model.field(f"jnt_{x}")).ravel() for x in ("type", "body", "vadr"))
        return {int(b): int(v) for k, b, v in zip(kind, body, vadr) if k == 0}

    @staticmethod
    def _driven(model: Model) -> list[tuple[int, int, np.ndarray[Any, Any]]]:
        """Of each actuator of a slide or hinge joint: its index, the body that the joint moves, and the joint's axis in its frame."""
        if model.nu == 0:
            return []
        kind, target = (np.asarray(model.field(f"act_{x}")).ravel() for x in ("trn", "target"))
        body, type_ = (np.asarray(model.field(f"jnt_{x}")).ravel() for x in ("body", "type"))
        axis = np.asarray(model.field("jnt_axis")).reshape(-1, 3)
        return [(i, int(body[j]), axis[j]) for i, (k, j) in enumerate(zip(kind, target)) if k == 0 and type_[j] >= 2]


class Goal:
    """A number at the end of some steps with controls held, and its gradient in what is so now.

    of: 'x', 'y', 'z' of a body's origin, or its 'distance' to a point [m]."""

    def __init__(self, bodies: Bodies, given: Any) -> None:
        if not isinstance(given, dict):
            raise Refused("goal: an object is needed")
        body = given.get("body")
        if isinstance(body, bool) or not isinstance(body, int) or not 0 < body < len(bodies.names):
            raise Refused(f"goal: there is no body {_shown(body)}")
        self.body = body
        self.of = given.get("of")
        if self.of not in ("x", "y", "z", "distance"):
            raise Refused("goal: of is 'x', 'y', 'z' or 'distance'")
        self.kind = given.get("in", "push")
        if self.kind not in ("push", "place", "controls"):
            raise Refused("goal: in is 'push', 'place' or 'controls'")
        steps = given.get("steps", 25)
        if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= LONGEST_GOAL:
            raise Refused(f"goal: 1 to {LONGEST_GOAL} steps are needed")
        self.steps = steps
        self.target = _point(given.get("target", [0, 0, 0]), "goal: target")

    def told(self) -> dict[str, Any]:
        return {"body": self.body, "of": self.of, "in": self.kind, "steps": self.steps, "target": self.target.tolist()}

    def _seed(self, p: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        """Its value at the body's place, and its derivative there."""
        if self.of != "distance":
            k = "xyz".index(str(self.of))
            return float(p[k]), np.eye(3)[k]
        d = p - self.target
        r = float(np.linalg.norm(d))
        return r, d / r if r > 0 else np.zeros(3)

    def gradient(self, sim: Sim, bodies: Bodies) -> dict[str, Any]:
        """Value, label, arrows (vectors and where they begin, (nbody, 3) each) and the gradient in the controls, at the state of sim, which
        is used up."""
        q, w, u = sim.qpos.copy(), np.concatenate([sim.qvel, sim.act]), sim.ctrl.copy()
        roll = sim.rollout(u=np.tile(u, (self.steps, 1)), q0=q, v0=w)
        if roll.steps < self.steps:
            raise Error(f"the goal's {self.steps} steps end after {roll.steps}: {roll.status}")
        sim.qpos[:] = roll.q[-1]
        J = sim.body_jacobian(self.body)[3:]
        value, seed = self._seed(sim.field("xpos")[self.body])
        g = roll.backward(dq=J.T @ seed)
        sim.qpos[:] = q
        sim.forward()
        du = g.u.sum(axis=0)
        if self.kind == "push":
            arrows = self._pushes(sim, g.v0[:len(sim.qvel)], bodies)
        else:
            arrows = self._places(g.q0, bodies) if self.kind == "place" else self._controls(sim, du, bodies)
        at = sim.field("xcom" if self.kind == "push" else "xpos")
        return {"value": value, "label": g.label, "reason": g.reason, "arrows": arrows, "at": at, "controls": du}

    @staticmethod
    def _pushes(sim: Sim, dv: np.ndarray[Any, Any], bodies: Bodies) -> np.ndarray[Any, Any]:
        """J M^-1 dL/dv: an impulse p at a centre of mass changes v by M^-1 J' p."""
        out = np.zeros((len(bodies.names), 3))
        if dv.any():
            x, com = np.linalg.solve(sim.field("M"), dv), sim.field("xcom")
            for b in np.flatnonzero(bodies.moves):
                out[b] = sim.body_jacobian(int(b), com[b])[3:] @ x
        return out

    @staticmethod
    def _places(dq: np.ndarray[Any, Any], bodies: Bodies) -> np.ndarray[Any, Any]:
        """The gradient in the place of each body that a free joint moves."""
        out = np.zeros((len(bodies.names), 3))
        for b, v in bodies.free.items():
            out[b] = dq[v:v + 3]
        return out

    @staticmethod
    def _controls(sim: Sim, du: np.ndarray[Any, Any], bodies: Bodies) -> np.ndarray[Any, Any]:
        """On each body, the sum of the gradients in the controls of its joints, each along its joint's axis."""
        out = np.zeros((len(bodies.names), 3))
        for i, b, axis in bodies.driven:
            out[b] += du[i] * sim.field("xmat")[b].reshape(3, 3) @ axis
        return out


class Pull:
    """A spring with damping from a point of a body to a point of the world."""

    def __init__(self, sim: Sim, bodies: Bodies, given: dict[str, Any]) -> None:
        body = given.get("body")
        if isinstance(body, bool) or not isinstance(body, int) or not 0 < body < len(bodies.names) or not bodies.moves[body]:
            raise Refused(f"pull: body {_shown(body)} does not move")
        self.body = body
        self.point = _point(given.get("point"), "pull: point")
        self.to = _point(given.get("to"), "pull: to")
        strength = _number(given.get("strength", 1), "pull: strength", 0.01, 100)
        J, _ = self.place(sim)
        # what the point weighs against a push, and the whole of what hangs on it
        inverse = float(np.trace(J @ np.linalg.solve(sim.field("M"), J.T))) / 3
        local = 1 / inverse if inverse > 0 else 0.0
        whole = float(bodies.mass[bodies.root == bodies.root[body]].sum())
        # the force is held over a step: no stiffer than that keeps stable
        self.k = min(strength * whole * PULL ** 2, 0.25 * local / sim.dt ** 2)
        self.c = min(2 * math.sqrt(strength) * whole * PULL, 0.5 * local / sim.dt)
        self.force = np.zeros(3)   # of the last step

    def place(self, sim: Sim) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The Jacobian of the held point and where it is."""
        sim.forward()
        self.at = sim.field("xpos")[self.body] + sim.field("xmat")[self.body].reshape(3, 3) @ self.point
        return sim.body_jacobian(self.body, self.at)[3:], self.at

    def told(self) -> dict[str, Any]:
        """Where it is held, where it is drawn to, and the force."""
        return {"body": self.body, "at": _plain_numbers(self.at), "to": self.to.tolist(), "force": _plain_numbers(self.force)}

    def generalised(self, sim: Sim) -> np.ndarray[Any, Any]:
        """J' f at the present state, f = k (to - p) - c v."""
        J, p = self.place(sim)
        self.force = self.k * (self.to - p) - self.c * (J @ sim.qvel)
        return np.asarray(J.T @ self.force)


class Live:
    """The simulation, its clock and what is published of it. `sim` is its own from now on."""

    def __init__(self, sim: Sim) -> None:
        self.lock = threading.RLock()
        self.fresh = threading.Condition()      # a picture was published, or the end
        self.frame: dict[str, Any] = {}
        self.number = 0                         # of pictures
        self.ended = False
        self.sim = sim
        self.bodies = Bodies(sim.model)
        self._start = {name: getattr(sim, name).copy() for name in STATE}   # what reset goes back to
        self._applied = sim.qfrc_applied.copy()
        self.running = False
        self.speed = 1.0
        self.time = 0.0
        self.rate = 0.0
        self.failed = ""                        # why it stands still
        self.told = ""                          # what else is to be said: a switch that failed, warnings
        self.changed = 0                        # of settings
        self._owed = 0.0
        self._pull: Pull | None = None
        self._goal: Goal | None = None
        self._found: dict[str, Any] | None = None
        self._contacts = np.zeros((0, 6))
        self._info: dict[str, Any] = {}
        self._stale = True                      # a picture is owed
        self._switching = threading.Lock()
        self._ask = threading.Event()           # the gradient is owed
        self._publish()
        self._threads = [threading.Thread(target=f, name=f"tangere-{n}", daemon=True)
                         for n, f in (("live", self._run), ("gradient", self._differentiate))]
        for t in self._threads:
            t.start()

    def end(self) -> None:
        """Stops; waits for the step and the gradient that are on their way."""
        self.ended = True
        self._ask.set()
        with self.fresh:
            self.fresh.notify_all()
        for t in self._threads:
            if t is not threading.current_thread():
                t.join(10)

    # ---- the clock ----

    def _run(self) -> None:
        before = time.monotonic()
        due = before
        while not self.ended:
            now = time.monotonic()
            with self.lock:
                if self.running:
                    self._advance(now - before)
                if self._stale:
                    self._publish()
            before = now
            now = time.monotonic()
            due = max(due + 1 / FRAMES, now + 0.001)   # others get the lock in between
            time.sleep(due - now)

    def _advance(self, passed: float) -> None:
        began, since = time.monotonic(), self.time
        self._owed += min(passed, 0.1) * self.speed
        while self.running and self._owed >= self.sim.dt:
            self._owed -= self.sim.dt
            self._step()
            if time.monotonic() - began > BUSY:
                self._owed = min(self._owed, 0.999 * self.sim.dt)
        if not self.failed and self.time > since:
            self._contacts = self._forces()
        if passed > 0:
            self.rate += 0.1 * ((self.time - since) / passed - self.rate)

    def _step(self) -> None:
        """One step; one that fails leaves the state as it was, and everything stands still."""
        sim = self.sim
        try:
            sim.qfrc_applied[:] = self._applied
            if self._pull is not None:
                sim.qfrc_applied[:] += self._pull.generalised(sim)
            info = sim.step()
            if not (np.isfinite(sim.qpos).all() and np.isfinite(sim.qvel).all()):
                raise Error("the state is no longer finite")
        except Error as why:
            self._stop(str(why))
            return
        finally:
            sim.qfrc_applied[:] = self._applied
        self.time += sim.dt
        self._info = {"contacts": info.ncontact, "iterations": info.iterations}
        self._stale = True
        self._ask.set()

    def _stop(self, why: str) -> None:
        self.running = False
        self._owed = 0.0
        self.failed = why
        self._stale = True

    # ---- what is published ----

    def _forces(self) -> np.ndarray[Any, Any]:
        """Points and forces of the last step's contacts, (n, 6): on the body that can move; where both can, on the one held up."""
        c = self.sim.contacts()
        if len(c) == 0:
            return np.zeros((0, 6))
        moves, world = self.bodies.moves, c["world"]
        one = moves[c["body1"]] & (~moves[c["body2"]] | (world @ self.bodies.up < 0))
        force = np.where(one[:, None], -world, world)
        shown = np.linalg.norm(world, axis=1) > 1e-4 * self.bodies.weight
        return np.asarray(np.concatenate([c["point"], force], axis=1)[shown])

    def _publish(self) -> None:
        sim, self._stale = self.sim, False
        pull = self._pull
        try:
            sim.forward()
            if pull is not None:
                pull.place(sim)
        except Error as why:   # a state beyond all bounds has no frames; those before it stay in the picture
            self._stop(self.failed or str(why))
            self._stale = False
        frame: dict[str, Any] = {
            "t": self.time, "running": self.running, "rate": self.rate if self.running else 0.0, "settings": self.changed,
            "pos": _words(sim.field("xpos")), "quat": _words(sim.field("xquat")), "contacts": _words(self._contacts),
            "ctrl": _plain_numbers(sim.ctrl), "failed": self.failed, "told": self.told, "speed": self.speed, "info": self._info,
            "pull": None if pull is None else pull.told(),
            "goal": self._found,
        }
        with self.fresh:
            self.number += 1
            self.frame = frame
            self.fresh.notify_all()

    def wait(self, seen: int, seconds: float) -> tuple[int, dict[str, Any]]:
        """The newest picture when it is not the one of that number, or what there is after some time."""
        with self.fresh:
            self.fresh.wait_for(lambda: self.ended or self.number != seen, seconds)
            return self.number, self.frame

    def settings(self) -> dict[str, Any]:
        """What changes by command alone."""
        with self.lock:
            sim, model = self.sim, self.sim.model
            names = model.names("actuator") if model.nu else []
            limited: Any = np.asarray(model.field("act_ctrllimited")).ravel() if model.nu else []
            ranges: Any = np.asarray(model.field("act_ctrlrange")).reshape(-1, 2) if model.nu else []
            return {
                "settings": self.changed, "dt": sim.dt, "contact": sim.contact, "models": ["none", *contact_models()],
                "options": {word: [_option(o) for o in contact_options(word)] for word in contact_models()},
                "values": {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in sim.contact_options.items()},
                "actuators": [{"name": name or f"actuator {i}", "low": float(r[0]) if on else -1.0, "high": float(r[1]) if on else 1.0}
                              for i, (name, on, r) in enumerate(zip(names, limited, ranges))],
                "keys": [k for k in model.names("key") if k], "moves": self.bodies.moves.tolist(), "free": sorted(self.bodies.free),
                "weight": self.bodies.weight, "goal": None if self._goal is None else self._goal.told(), "longest": LONGEST_GOAL,
            }

    # ---- what the page asks for ----

    def do(self, command: Any) -> None:
        """Carries out {"what": argument, ..}. Refused says what cannot be had, and leaves all as it was."""
        if not isinstance(command, dict) or not command:
            raise Refused("an object with what to do is needed")
        known = {"run": self._do_run, "step": self._do_step, "reset": self._do_reset, "speed": self._do_speed, "ctrl": self._do_ctrl,
                 "pull": self._do_pull, "goal": self._do_goal, "contact": self._do_contact}
        for what, argument in command.items():
            if what not in known:
                raise Refused(f"there is nothing called '{str(what)[:40]}'")
            if what == "contact":
                self._do_contact(argument)   # takes the lock for the switch alone: a contact model may take its time to be made
                continue
            with self.lock:
                try:
                    known[what](argument)
                except (Error, np.linalg.LinAlgError) as why:
                    raise Refused(f"{what}: {why}") from why
                finally:
                    self._stale = True

    def _do_run(self, on: Any) -> None:
        if not isinstance(on, bool):
            raise Refused("run: true or false is needed")
        if on and self.failed:
            self.failed = ""   # tried again from the same state
        self.running = on
        self._owed = 0.0

    def _do_step(self, n: Any) -> None:
        self.running = False
        self.failed = ""
        for _ in range(int(_number(n, "step", 1, 1000))):
            if not self.failed:
                self._step()
        if not self.failed:
            self._contacts = self._forces()

    def _do_reset(self, key: Any) -> None:
        if key is not None and key not in self.sim.model.names("key"):
            raise Refused(f"there is no keyframe {_shown(key)}")
        if key:
            self.sim.reset(key)
        else:
            self.sim.reset()   # of what contacts remember
            for name, value in self._start.items():
                getattr(self.sim, name)[:] = value
        self.time, self.failed, self.told, self._pull = 0.0, "", "", None
        self._contacts, self._info, self._owed = np.zeros((0, 6)), {}, 0.0
        self.sim.qfrc_applied[:] = self._applied
        self._ask.set()

    def _do_speed(self, speed: Any) -> None:
        self.speed = _number(speed, "speed", *SPEEDS)

    def _do_ctrl(self, given: Any) -> None:
        if not isinstance(given, dict):
            raise Refused("ctrl: an object of numbers by index is needed")
        new = self.sim.ctrl.copy()
        for i, value in given.items():
            if not str(i).isascii() or not str(i).isdigit() or len(str(i)) > 9 or int(i) >= len(new):
                raise Refused(f"ctrl: there is no actuator {str(i)[:20]}")
            new[int(i)] = _number(value, "ctrl")
        self.sim.ctrl[:] = new
        self._ask.set()

    def _do_pull(self, given: Any) -> None:
        if given is None:
            self._pull = None
        elif isinstance(given, dict) and set(given) == {"to"}:
            if self._pull is not None:
                self._pull.to = _point(given["to"], "pull: to")
        elif isinstance(given, dict):
            self._pull = Pull(self.sim, self.bodies, given)
        else:
            raise Refused("pull: an object or null is needed")

    def _do_goal(self, given: Any) -> None:
        self._goal = None if given is None else Goal(self.bodies, given)
        self._found = None
        self.changed += 1
        self._ask.set()

    def _do_contact(self, given: Any) -> None:
        """Another contact model, options or step size. It makes one step for a trial; one that fails leaves the old one in place."""
        if not isinstance(given, dict) or not isinstance(given.get("word"), str) or not isinstance(given.get("options", {}), dict):
            raise Refused("contact: an object with word and options is needed")
        dt = _number(given.get("dt", self.sim.dt), "dt", 1e-7, 1.0)
        if not self._switching.acquire(timeout=60):
            raise Refused("another contact model is being made")
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                with self.lock:
                    make = recipe(self.sim, given["word"], given.get("options", {}), dt)
                made = make()
                trial = recipe(made)()
            with self.lock:
                copy_state(self.sim, made)
                if given.get("separate") is True:
                    made.separate()
                copy_state(made, trial)
                trial.step()
                self.sim, self.changed, self._found = made, self.changed + 1, None
                self.failed = ""
                self._pull = None
                self._contacts, self._info, self._stale = np.zeros((0, 6)), {}, True
                self.told = "; ".join(dict.fromkeys(str(w.message) for w in said))
                self._ask.set()
        except (Error, ValueError, KeyError, TypeError, OverflowError) as why:
            raise Refused(f"{given['word']} cannot go on from here, {self.sim.contact} stays: {_plain(why)}") from why
        finally:
            self._switching.release()

    # ---- the gradient ----

    def _differentiate(self) -> None:
        own: Sim | None = None
        at: Sim | None = None       # whose twin it is
        while True:
            self._ask.wait()
            self._ask.clear()
            if self.ended:
                return
            with self.lock:
                goal, sim = self._goal, self.sim
                make = None if goal is None or at is sim else recipe(sim)
            if goal is None:
                own = at = None
                continue
            if make is not None:
                own, at = self._quietly(make), sim
            assert own is not None
            with self.lock:
                copy_state(sim, own)
            found = self._gradient(goal, own)
            with self.lock:
                if self._goal is goal and self.sim is sim:
                    self._found = found
                    self._stale = True
            time.sleep(0.02)

    def _quietly(self, make: Callable[[], Sim]) -> Sim:
        """What a contact model warns of was said when it was switched to. The filters of warnings are the process's: one at a time."""
        with self._switching, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make()

    def _gradient(self, goal: Goal, own: Sim) -> dict[str, Any]:
        began = time.monotonic()
        try:
            g = goal.gradient(own, self.bodies)
        except (Error, np.linalg.LinAlgError) as why:
            return {"error": str(why)}
        if not (math.isfinite(g["value"]) and np.isfinite(g["arrows"]).all() and np.isfinite(g["controls"]).all()):
            return {"error": "the gradient is not finite"}
        return {"value": g["value"], "label": g["label"], "reason": g["reason"], "arrows": _words(g["arrows"]), "at": _words(g["at"]),
                "controls": g["controls"].tolist(), "seconds": time.monotonic() - began}

    def copy(self) -> Sim:
        """A Sim as it is now."""
        with self.lock:
            return twin(self.sim)


def _plain(why: BaseException) -> str:
    return str(why.args[0]) if isinstance(why, KeyError) and why.args else str(why)


def _option(o: Any) -> dict[str, Any]:
    def plain(x: Any) -> Any:
        return x if not isinstance(x, float) or math.isfinite(x) else None
    return {"name": o.name, "type": o.type, "default": plain(o.default), "range": [plain(x) for x in o.range], "unit": o.unit,
            "text": o.text}
