"""A task file as a Gymnasium environment, with the simulation and its gradients in reach.

    env = tangere.gym.TaskEnv("models/cartpole.yaml")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    env.unwrapped.sim.jacobians()                          # of the step just made

Observations are qpos, qvel and act (activations of actuators that have one), actions the controls, the reward of a
step what the task's loss says of the state it starts from, with the opposite sign; the last step adds that of the
state it ends in, so that an episode's sum is the task's loss negated. A step that fails ends the episode;
info["error"] says why.
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
