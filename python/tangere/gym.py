"""Gymnasium environments: of a task file, with the simulation and its gradients in reach, and those of tangere.envs by name.

    env = tangere.gym.TaskEnv("models/cartpole.yaml")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    env.unwrapped.sim.jacobians()                          # of the step just made

Observations are qpos, qvel and act (activations of actuators that have one), actions the controls, the reward of a
step what the task's loss says of the state it starts from, with the opposite sign; the last step adds that of the
state it ends in, so that an episode's sum is the task's loss negated. A step that fails ends the episode;
info["error"] says why.

    import tangere.gym
    env = gymnasium.make("tangere/HalfCheetah-v0")                        # one lane; settings as tangere.envs.Env has them
    many = gymnasium.make_vec("tangere/HalfCheetah-v0", num_envs=64)      # all lanes in one call
"""

from __future__ import annotations

import os

import gymnasium
import numpy as np

from ._errors import Error
from ._tangere import Task


class TaskEnv(gymnasium.Env):
    """Gymnasium environment of a task. noise: of the start's joint coordinates, normal."""

    metadata = {"render_modes": []}

    def __init__(self, path: str | os.PathLike[str], contact: str | None = None, noise: float = 0.0, **options: object) -> None:
        self.task = Task(path, contact=contact, **options)
        self.sim = self.task.sim()
        self.noise, self.t = noise, 0
        self._start = self.sim.qpos.copy(), self.sim.qvel.copy(), self.sim.act.copy()
        size = self._observe().size
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        limited = np.ravel(self.sim.model.field("act_ctrllimited")).astype(bool)
        span = self.sim.model.field("act_ctrlrange").reshape(-1, 2)
        low, high = (np.where(limited, span[:, i], sign * np.inf) for i, sign in ((0, -1), (1, 1)))
        self.action_space = gymnasium.spaces.Box(low, high, (self.sim.ctrl.size,), np.float64)

    def _observe(self):
        return np.concatenate([self.sim.qpos, self.sim.qvel, self.sim.act])

    def reset(self, *, seed=None, options=None):
        """The task's start, moved at random by noise."""
        super().reset(seed=seed)
        self.t = 0
        self.sim.reset()
        step = self.noise * self.np_random.standard_normal(self.sim.qvel.size) if self.noise else np.zeros(self.sim.qvel.size)
        self.sim.qpos[:] = self.sim.model.integrate(self._start[0], step)
        self.sim.qvel[:] = self._start[1]
        self.sim.act[:] = self._start[2]
        return self._observe(), {}

    def _reward_of_failure(self):
        """Of a state that no step leads out of; 0 where it has none."""
        try:
            return -self.task.cost(self.sim, self.t)
        except Error:
            return 0.0

    def step(self, action):
        """One step under the controls `action`."""
        if self.t >= self.task.steps:
            raise Error("the episode is over: reset first")
        self.sim.ctrl[:] = np.asarray(action, dtype=np.float64)
        try:
            reward = -self.task._step(self.sim, self.t)
        except Error as failed:
            return self._observe(), self._reward_of_failure(), True, False, {"error": str(failed)}
        self.t += 1
        over = self.t == self.task.steps
        if over:
            reward -= self.task.cost(self.sim, self.t)
        return self._observe(), reward, False, over, {}


def _define(name, definition):
    from . import envs
    return envs.define(name) if definition is None else definition


def _numpy(tensor):
    return tensor.numpy(force=True)


class LaneEnv(gymnasium.Env):
    """One lane of a tangere.envs environment, with NumPy arrays and without gradients: what gymnasium.make("tangere/Hopper-v0") gives, from
    `import tangere.gym` on. `env.unwrapped.lanes` is the tangere.envs.Env. render_mode "html": render returns the episode's replay page."""

    metadata = {"render_modes": ["html"], "render_fps": 50}

    def __init__(self, name: str = "half_cheetah", definition: object = None, render_mode: str | None = None, **settings: object) -> None:
        from . import envs
        self.lanes = envs.Env(_define(name, definition), 1, **settings)
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self.lanes.size,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.lanes.model.nu,), np.float64)

    def reset(self, *, seed=None, options=None):
        """A new episode."""
        super().reset(seed=seed)
        return _numpy(self.lanes.reset(seed)[0]), {}

    def step(self, action):
        """One step; the next episode begins with reset."""
        import torch
        with torch.no_grad():
            _, reward, _, info = self.lanes.step(np.asarray(action, dtype=np.float64)[None])
        told = {"error": info["error"][0]} if info["error"][0] else {}
        return _numpy(info["final"][0]), float(reward[0]), bool(info["terminated"][0]), bool(info["truncated"][0]), told

    def render(self):
        """The replay page of the episode, as text; None where render_mode is."""
        return self.lanes.render() if self.render_mode == "html" else None


class LanesEnv(gymnasium.vector.VectorEnv):
    """All lanes of a tangere.envs environment, with NumPy arrays and without gradients: what gymnasium.make_vec("tangere/Hopper-v0",
    num_envs=64) gives. A lane that is done begins its next episode in the same step; what its episode ended in is in `final_obs`."""

    metadata = {"render_modes": ["html"], "render_fps": 50, "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}

    def __init__(self, num_envs: int = 1, name: str = "half_cheetah", definition: object = None, render_mode: str | None = None,
                 **settings: object) -> None:
        from . import envs
        self.lanes = envs.Env(_define(name, definition), num_envs, **settings)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self.lanes.size,), np.float64)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.lanes.model.nu,), np.float64)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed=None, options=None):
        """New episodes of all lanes, or of those of options["reset_mask"]."""
        return _numpy(self.lanes.reset(seed, (options or {}).get("reset_mask"))), {}

    def step(self, actions):
        """One step of all lanes."""
        import torch
        with torch.no_grad():
            obs, reward, done, info = self.lanes.step(np.asarray(actions, dtype=np.float64))
        told = {}
        if done.any():
            told = {"final_obs": _numpy(info["final"]), "_final_obs": _numpy(done), "error": np.array(info["error"], dtype=object),
                    "_error": _numpy(info["failed"])}
        return _numpy(obs), _numpy(reward), _numpy(info["terminated"]), _numpy(info["truncated"]), told

    def render(self):
        """The replay page of the first lane's episode, as text; None where render_mode is."""
        return self.lanes.render() if self.render_mode == "html" else None


IDS = {"tangere/SwingUp-v0": "swing_up", "tangere/PushToMark-v0": "push_to_mark", "tangere/HalfCheetah-v0": "half_cheetah",
       "tangere/Hopper-v0": "hopper"}
"""Names that gymnasium.make and make_vec know once this module is imported, and the environments of tangere.envs that they are."""

for _id, _name in IDS.items():
    gymnasium.register(_id, entry_point="tangere.gym:LaneEnv", vector_entry_point="tangere.gym:LanesEnv", kwargs={"name": _name})
