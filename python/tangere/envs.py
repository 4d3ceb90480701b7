"""Batched environments whose rewards have gradients (PyTorch).

    env = tangere.envs.make("half_cheetah", lanes=64, seed=0)
    obs = env.reset()
    for _ in range(32):
        obs, reward, done, info = env.step(policy(obs))
        total = total + reward.sum()
    (-total).backward()                                    # through the policy, the rewards and the contacts
    env.cut()                                              # the next gradient begins here

A lane is one copy of the scene; all lanes make their step at once, on the threads of a tangere.Batch. A lane whose episode is over starts
again by itself, and no gradient goes from one episode into the next. The state is float64 on the CPU, and so is what the functions of a
definition are given; observations and rewards are of the dtype and, like all that `step` returns, on the device that were asked for.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from . import _lanes, replay
from ._tangere import Batch, Model, Sim, load, param_range
from .torch import rollout

Tensor = torch.Tensor
Start = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@dataclasses.dataclass(frozen=True)
class Definition:
    """What an environment is of. Its functions are given tensors with one row a lane: q (n, nq), v (n, nv + na), a (n, nu) in -1 .. 1."""

    model: str | os.PathLike[str] | Model
    """The model, or its file."""
    observe: Callable[[Tensor, Tensor], Tensor]
    """observe(q, v): (n, size)."""
    reward: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
    """reward(q, v, a, q1, v1): (n,), of a step from (q, v) under the action a to (q1, v1)."""
    start: Callable[[np.random.Generator, Model], Start]
    """start(rng, model): q (nq,) and v (nv + na,) of one lane."""
    over: Callable[[Tensor, Tensor], Tensor] | None = None
    """over(q1, v1): (n,) of bool: the episode ends there."""
    steps: int = 200
    """Steps of the environment in an episode, after which it is cut off."""
    repeat: int = 1
    """Steps of the engine in one of the environment, under the same controls."""
    dt: float | None = None
    """Step size of the engine [s]; None: the file's."""
    contact: str | None = "lcp"
    """Contact model."""
    options: Mapping[str, object] = dataclasses.field(default_factory=dict)
    """Its options."""
    scale: float | Sequence[float] | None = None
    """Controls of the action 1, those of -1 being the opposite; None: the actuators' ranges, which all of them then need."""


def _host(array: Any) -> Tensor:
    """A tensor on the CPU, whatever torch.set_default_device says."""
    return torch.tensor(array, device="cpu")


def _model(source: str | os.PathLike[str] | Model) -> Model:
    return source if isinstance(source, Model) else load(source)


def _controls(definition: Definition, model: Model) -> tuple[Tensor, Tensor]:
    """Middle and half width of the controls that actions stand for."""
    if definition.scale is not None:
        half = np.broadcast_to(np.asarray(definition.scale, dtype=float), (model.nu,))
        return _host(np.zeros(model.nu)), _host(half)
    limited, span = np.ravel(model.field("act_ctrllimited")).astype(bool), model.field("act_ctrlrange").reshape(-1, 2)
    if not limited.all():
        free = model.names("actuator")[int(np.flatnonzero(~limited)[0])]
        raise ValueError(f"scale: the actuator '{free}' has no range of controls; say what the action 1 stands for")
    return _host(span.mean(1)), _host((span[:, 1] - span[:, 0]) / 2)


class _Draw:
    """One row of randomize: entries of a parameter, drawn anew for each episode."""

    def __init__(self, sim: Sim, row: Mapping[str, Any]):
        unknown = set(row) - {"name", "of", "entry", "low", "high", "times"}
        if unknown or not {"name", "low", "high"} <= set(row):
            raise ValueError(f"randomize: {dict(row)}: name, low and high are needed, of, entry and times allowed")
        self.name, self.times = str(row["name"]), bool(row.get("times", False))
        if self.name == "opt_timestep":
            raise ValueError("randomize: opt_timestep: all lanes make their steps at once, of one size")
        try:
            self.places, _ = sim.param_entries(self.name, row.get("of"), row.get("entry"))
        except (KeyError, ValueError) as wrong:
            raise ValueError(f"randomize: {wrong.args[0]}") from None
        self.low, self.high = float(row["low"]), float(row["high"])
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise ValueError(f"randomize: {self.name}: low and high are {self.low} and {self.high}")
        own = sim.param(self.name).reshape(-1)[self.places] if self.times else np.ones(1)
        for value in np.outer((self.low, self.high), own).ravel().tolist():
            least, most = param_range(self.name, value)
            if not least <= value <= most:
                raise ValueError(f"randomize: {self.name} cannot be {value:g}")

    def apply(self, rng: np.random.Generator, value: np.ndarray[Any, Any]) -> None:
        """Draws one number for all its entries: the value, or with times what the model's is multiplied by."""
        drawn, flat = rng.uniform(self.low, self.high), value.reshape(-1)
        flat[self.places] = flat[self.places] * drawn if self.times else drawn


class Env:
    """Many lanes of one environment.

    randomize: rows {name, of, entry, low, high} as a task file's `parameters`, drawn evenly for each lane and episode; with times=True the
    model's own value is multiplied by what is drawn. Other parameters, or such as a gradient is wanted in, go into `params`: tensors by
    name, one row a lane. watch: the first lanes whose motion is kept for `render`."""

    def __init__(self, definition: Definition, lanes: int, *, seed: int | None = None, randomize: Sequence[Mapping[str, Any]] = (),
                 threads: int = 0, dtype: torch.dtype = torch.float64, device: str | torch.device = "cpu", watch: int = 1,
                 contact: str | None = "", **options: object) -> None:
        if lanes < 1:
            raise ValueError(f"lanes: {lanes}; at least one is needed")
        self.definition, self.lanes, self.dtype, self.device = definition, lanes, dtype, torch.device(device)
        self.model = _model(definition.model)
        own = contact == ""
        settings: dict[str, Any] = (dict(definition.options) if own else {}) | options
        self.batch = Batch(self.model, contact=definition.contact if own else contact, dt=definition.dt, threads=threads, **settings)
        self.dt = self.batch.dt * definition.repeat
        self._middle, self._half = _controls(definition, self.model)
        sim = self.batch.sim()
        self._draws = [_Draw(sim, row) for row in randomize]
        self._values = {draw.name: sim.param(draw.name) for draw in self._draws}
        self.params: dict[str, Tensor] = {}
        self._rngs: list[np.random.Generator] = []
        self._watched = range(min(watch, lanes))
        self._seen: list[list[np.ndarray[Any, Any]]] = [[] for _ in self._watched]
        self._whole: list[list[np.ndarray[Any, Any]]] = [[] for _ in self._watched]
        self._q, self._v = _host(np.zeros((lanes, self.model.nq))), _host(np.zeros((lanes, self.model.nv + self.model.na)))
        self._t, self._return = np.zeros(lanes, int), _host(np.zeros(lanes))
        self._seed(seed)
        self.size = int(self.reset().shape[1])

    def _seed(self, seed: int | None) -> None:
        """A generator for each lane, so that a lane's draws do not depend on the others'."""
        self._rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(self.lanes)]

    @property
    def state(self) -> tuple[Tensor, Tensor]:
        """(q, v): positions (lanes, nq), velocities and activations (lanes, nv + na)."""
        return self._q, self._v

    def put(self, q: Tensor, v: Tensor) -> Tensor:
        """Sets the state of all lanes, with its gradient if it has one; returns the observations."""
        for name, given, own in (("q", q, self._q), ("v", v, self._v)):
            if given.shape != own.shape:
                raise ValueError(f"{name}: shape is {tuple(given.shape)}, {tuple(own.shape)} is needed")
        self._q, self._v = q.to("cpu", torch.float64), v.to("cpu", torch.float64)
        return self._observe(self._q, self._v)

    def cut(self) -> None:
        """Lets go of how the state came about: the next gradient begins here."""
        self._q, self._v, self._return = self._q.detach(), self._v.detach(), self._return.detach()
        self.params = {name: p.detach() if name in self._values else p for name, p in self.params.items()}

    def _observe(self, q: Tensor, v: Tensor) -> Tensor:
        return self.definition.observe(q, v).to(self.device, self.dtype)

    def _begin(self, chosen: np.ndarray[Any, Any]) -> tuple[Tensor, Tensor]:
        """Starts of the chosen lanes, with zeros in the others' rows; draws their parameters too."""
        q, v = np.zeros(self._q.shape), np.zeros(self._v.shape)
        drawn = {name: np.tile(value, (self.lanes,) + (1,) * value.ndim) for name, value in self._values.items()}
        for lane in np.flatnonzero(chosen):
            rng = self._rngs[lane]
            q[lane], v[lane] = self.definition.start(rng, self.model)
            for draw in self._draws:
                draw.apply(rng, drawn[draw.name][lane])
        for name, rows in drawn.items():
            self.params[name] = _choose(chosen, _host(rows), self.params.get(name, _host(rows)).to("cpu", torch.float64))
        self._t[chosen] = 0
        return _host(q), _host(v)

    def reset(self, seed: int | None = None, mask: Tensor | np.ndarray[Any, Any] | None = None) -> Tensor:
        """Starts the lanes of the mask again (all of them when None), without a gradient; returns all observations (lanes, size). seed: of
        what is drawn from now on."""
        mask = mask.numpy(force=True) if isinstance(mask, torch.Tensor) else mask
        chosen = np.ones(self.lanes, bool) if mask is None else np.asarray(mask)
        if chosen.shape != (self.lanes,) or chosen.dtype != bool:
            raise ValueError(f"mask: shape is {chosen.shape} of {chosen.dtype}, ({self.lanes},) of bool is needed")
        if seed is not None:
            self._seed(seed)
        q, v = self._begin(chosen)
        self._q, self._v = _choose(chosen, q, self._q), _choose(chosen, v, self._v)
        self._return = _choose(chosen, torch.zeros_like(self._return), self._return)
        self._keep(chosen)
        return self._observe(self._q, self._v)

    def _keep(self, began: np.ndarray[Any, Any]) -> None:
        """Notes the states of the lanes that are watched."""
        for lane in self._watched:
            if began[lane]:
                if len(self._seen[lane]) > 1:
                    self._whole[lane] = self._seen[lane]
                self._seen[lane] = []
            self._seen[lane].append(self._q[lane].detach().numpy().copy())

    def _action(self, action: Tensor) -> Tensor:
        if not isinstance(action, torch.Tensor):
            action = _host(np.asarray(action, dtype=float))
        if action.shape != (self.lanes, self.model.nu):
            raise ValueError(f"action: shape is {tuple(action.shape)}, ({self.lanes}, {self.model.nu}) is needed")
        bad = ~torch.isfinite(action.detach())
        if bad.any():
            lane, entry = (int(i) for i in bad.nonzero()[0])
            raise ValueError(f"action: entry {entry} of lane {lane} is {float(action[lane, entry])}")
        return action.to("cpu", torch.float64)

    def transition(self, q: Tensor, v: Tensor, action: Tensor, params: Mapping[str, Tensor] | None = None
                   ) -> tuple[Tensor, Tensor, Tensor, list[str]]:
        """(q1, v1, reward, errors) of a step from any states, (n, nq) and (n, nv + na): a function of its arguments, for torch.func. What
        of a lane failed stays at its state, with reward 0 and without a gradient; its text is in `errors`, '' for the others.

        Actions beyond -1 .. 1 are those of the bound. params: tensors by name, one row a lane, in place of those of the environment."""
        given = self.params if params is None else params
        wanted = {name: p.to("cpu") for name, p in given.items() if params is not None or p.requires_grad}
        fixed = {name: np.ascontiguousarray(p.numpy(force=True), dtype=float) for name, p in given.items() if name not in wanted}
        batch: Any = _lanes.Fixed(self.batch, fixed) if fixed else self.batch   # type: ignore[no-untyped-call]
        bounded = action.clamp(-1.0, 1.0)
        u = (self._middle + self._half * bounded).unsqueeze(-2).expand(-1, self.definition.repeat, -1)
        failures: Any = _lanes.Failures()   # type: ignore[no-untyped-call]
        Q, V = rollout(batch, q, v, u, wanted, on_error=failures)
        failed = np.array([text != "" for text in failures.error])
        q1, v1 = _choose(failed, q.detach(), Q[:, -1]), _choose(failed, v.detach(), V[:, -1])
        reward = self.definition.reward(q, v, bounded, q1, v1)
        if reward.shape != (len(q),):
            raise ValueError(f"reward: shape is {tuple(reward.shape)}, ({len(q)},) is needed")
        return q1, v1, _choose(failed, torch.zeros_like(reward), reward), failures.error

    def step(self, action: Tensor) -> tuple[Tensor, Tensor, Tensor, dict[str, Any]]:
        """One step of all lanes under actions (lanes, nu) in -1 .. 1: observations (lanes, size), rewards (lanes,), done (lanes,) of bool,
        and what else there is by name, each with one row a lane.

        A lane that is done begins a new episode: its observation is that of the new start, and `final` has the one that the episode ended
        in, with its gradient. `terminated`: the task ended it; `truncated`: its steps were up; `failed`: the engine could not make the
        step, which `error` (a list) tells, such a lane being terminated too; `episode_return` and `episode_steps`: so far, of those that
        are done of the whole episode."""
        a = self._action(action)
        q1, v1, reward, errors = self.transition(self._q, self._v, a)
        self._t += 1
        self._return = self._return + reward.detach()
        failed = np.array([text != "" for text in errors])
        ended = failed.copy()
        if self.definition.over is not None:
            ended |= self.definition.over(q1.detach(), v1.detach()).numpy(force=True)
        cut = ~ended & (self._t >= self.definition.steps)
        done = ended | cut
        final = self._observe(q1, v1)
        told = {"terminated": ended, "truncated": cut, "failed": failed, "episode_steps": self._t}
        info = {"final": final, "error": errors, "episode_return": self._return.to(self.device)}
        info |= {name: _host(rows).to(self.device) for name, rows in told.items()}
        self._q, self._v = q1, v1
        obs = final
        if done.any():
            self._note(done)
            q, v = self._begin(done)
            self._q, self._v = _choose(done, q, q1), _choose(done, v, v1)
            self._return = _choose(done, torch.zeros_like(self._return), self._return)
            obs = self._observe(self._q, self._v)
        self._keep(done)
        return obs, reward.to(self.device, self.dtype), _host(done).to(self.device), info

    def _note(self, done: np.ndarray[Any, Any]) -> None:
        """The last state of watched lanes that are done."""
        for lane in self._watched:
            if done[lane]:
                self._seen[lane].append(self._q[lane].detach().numpy().copy())

    def episode(self, lane: int = 0) -> np.ndarray[Any, Any]:
        """Positions (steps + 1, nq) of a watched lane: of its present episode, or of the one before where that has not begun to move."""
        if lane not in self._watched:
            raise ValueError(f"lane: {lane} is not watched; watch={lane + 1} or more keeps its motion")
        states = self._seen[lane] if len(self._seen[lane]) > 1 else self._whole[lane]
        if len(states) < 2:
            raise ValueError(f"lane {lane} has made no step yet")
        return np.array(states)

    def write(self, path: str | os.PathLike[str], lane: int = 0) -> None:
        """Writes the replay page of `episode`."""
        replay.write(pathlib.Path(path), self.model, q=self.episode(lane), dt=self.dt)

    def render(self, lane: int = 0) -> str:
        """The replay page as text (HTML); `write` leaves it in a file."""
        with tempfile.TemporaryDirectory(prefix="tangere-envs-") as folder:
            page = pathlib.Path(folder) / "episode.html"
            self.write(page, lane)
            return page.read_text()


def _choose(mask: np.ndarray[Any, Any], one: Tensor, other: Tensor) -> Tensor:
    """Rows of one where the mask holds, else of the other; no gradient goes into rows that were not chosen. Where all are of one, the
    other's graph is let go, so that a backward pass through what follows does not meet it again."""
    if mask.all():
        return one.clone()
    return torch.where(_host(mask).reshape(-1, *(1,) * (other.ndim - 1)), one, other)


MODELS = pathlib.Path(__file__).resolve().parent / "models"


def _swing_up() -> Definition:
    """The pole hangs from its cart, and is to stand over the middle of the rail, at whose ends the episode is over. Angle 0 is upright."""
    def observe(q: Tensor, v: Tensor) -> Tensor:
        return torch.stack([q[:, 0], torch.cos(q[:, 1]), torch.sin(q[:, 1]), v[:, 0], v[:, 1]], 1)

    def reward(q: Tensor, v: Tensor, a: Tensor, q1: Tensor, v1: Tensor) -> Tensor:
        return 1 + torch.cos(q1[:, 1]) - 0.05 * q1[:, 0] ** 2 - 0.005 * v1[:, 1] ** 2 - 0.01 * a[:, 0] ** 2

    def over(q: Tensor, v: Tensor) -> Tensor:
        return q[:, 0].abs() > 3.0

    def start(rng: np.random.Generator, model: Model) -> Start:
        return np.array([0.0, np.pi]) + rng.uniform(-0.2, 0.2, 2), rng.uniform(-0.1, 0.1, 2)

    return Definition(MODELS / "swing_up.xml", observe, reward, start, over, steps=240, repeat=2, dt=0.01, contact=None)


def _push() -> Definition:
    """A plate pushes a box to a mark 0.6 m on, which it cannot pull back from."""
    mark, gap0 = 0.6, 0.3 - 0.02 - 0.15   # between plate and box where both coordinates are 0

    def observe(q: Tensor, v: Tensor) -> Tensor:
        return torch.stack([q[:, 0], q[:, 1], q[:, 1] - q[:, 0] + gap0, v[:, 0], v[:, 1]], 1)

    def reward(q: Tensor, v: Tensor, a: Tensor, q1: Tensor, v1: Tensor) -> Tensor:
        gap = q1[:, 1] - q1[:, 0] + gap0
        left = q1[:, 1] - mark
        return 1 - left.abs() / mark - 2 * left ** 2 - 0.3 * gap - 0.02 * v1[:, 1] ** 2 - 0.005 * a[:, 0] ** 2

    def start(rng: np.random.Generator, model: Model) -> Start:
        q = model.field("qpos0").copy()
        q[0] += rng.uniform(-0.3, 0.05)
        q[1] += rng.uniform(0.0, 0.1)
        return q, np.zeros(model.nv)

    return Definition(MODELS / "push_to_mark.xml", observe, reward, start, steps=100, repeat=2, dt=0.02)


def _cheetah() -> Definition:
    """The half-cheetah runs: speed of its root forward, less what its motors are asked for."""
    dt, repeat = 0.01, 2

    def observe(q: Tensor, v: Tensor) -> Tensor:
        return torch.cat([q[:, 1:], 0.2 * v], 1)

    def reward(q: Tensor, v: Tensor, a: Tensor, q1: Tensor, v1: Tensor) -> Tensor:
        return (q1[:, 0] - q[:, 0]) / (dt * repeat) - 0.1 * (a ** 2).sum(1) - 0.1 * q1[:, 2] ** 2

    def start(rng: np.random.Generator, model: Model) -> Start:
        q = model.field("qpos0") + rng.uniform(-0.05, 0.05, model.nq)
        q[:2] = 0.0, 0.02
        return q, rng.uniform(-0.05, 0.05, model.nv)

    return Definition(MODELS / "half_cheetah.xml", observe, reward, start, steps=200, repeat=repeat, dt=dt, scale=60.0)


def _hopper() -> Definition:
    """A leg with a foot hops forward and stays up; the episode ends where it has fallen."""
    dt, repeat = 0.01, 2

    def observe(q: Tensor, v: Tensor) -> Tensor:
        return torch.cat([q[:, 1:], 0.2 * v], 1)

    def reward(q: Tensor, v: Tensor, a: Tensor, q1: Tensor, v1: Tensor) -> Tensor:
        low = torch.relu(-0.1 - q1[:, 1])
        return 1 + (q1[:, 0] - q[:, 0]) / (dt * repeat) - q1[:, 2] ** 2 - 5 * low ** 2 - 0.05 * (a ** 2).sum(1)

    def over(q: Tensor, v: Tensor) -> Tensor:
        return (q[:, 1] < -0.45) | (q[:, 2].abs() > 1.0)

    def start(rng: np.random.Generator, model: Model) -> Start:
        q = model.field("qpos0") + rng.uniform(-0.03, 0.03, model.nq)
        q[:2] = 0.0, 0.02
        return q, rng.uniform(-0.05, 0.05, model.nv)

    return Definition(MODELS / "hopper.xml", observe, reward, start, over, steps=200, repeat=repeat, dt=dt)


TASKS: dict[str, Callable[[], Definition]] = {"swing_up": _swing_up, "push_to_mark": _push, "half_cheetah": _cheetah, "hopper": _hopper}
"""The environments that come with the package, by name."""


def define(name: str) -> Definition:
    """The definition of an environment that comes with the package; dataclasses.replace changes parts of it."""
    if name not in TASKS:
        raise ValueError(f"there is no environment '{name}'; there are {', '.join(TASKS)}")
    return TASKS[name]()


def make(name: str, lanes: int = 64, **settings: Any) -> Env:
    """An environment of TASKS with so many lanes; settings as Env takes them."""
    return Env(define(name), lanes, **settings)
