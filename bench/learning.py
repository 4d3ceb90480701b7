"""Learning by gradient against PPO, at equal steps of the environment: the curves of docs/learning.md.

    python bench/learning.py [--tasks half_cheetah swing_up] [--seeds 3] [--steps 40000] [--out FOLDER]

PPO is that of stable-baselines3 (tools/packages-learning.txt) with its defaults, in environments whose observations and rewards are
normalised by its own VecNormalize. Prints a row a run; writes curves.json and curves.svg. A step is one of the environment, of one lane;
those of judging are not counted."""
import argparse
import json
import pathlib
import time

import numpy as np
import torch

from tangere import envs
from tangere.examples import shac

LANES = 8


def ppo(name, steps, seed, look):
    """A learner of stable-baselines3 on the lanes of an environment."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

    class Lanes(VecEnv):
        """tangere.envs as stable-baselines3 takes environments."""

        def __init__(self, lanes):
            import gymnasium
            self.env, self.render_mode = envs.make(name, lanes, dtype=torch.float32, seed=seed), None
            box = gymnasium.spaces.Box(-np.inf, np.inf, (self.env.size,), np.float32)
            super().__init__(lanes, box, gymnasium.spaces.Box(-1, 1, (self.env.model.nu,), np.float32))

        def reset(self):
            return self.env.reset().numpy()

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            with torch.no_grad():
                obs, reward, done, info = self.env.step(self.actions)
            told = [{} for _ in range(self.num_envs)]
            for lane in np.flatnonzero(done.numpy()):
                told[lane] = {"terminal_observation": info["final"][lane].numpy(), "TimeLimit.truncated": bool(info["truncated"][lane])}
            return obs.numpy(), reward.numpy(), done.numpy(), told

        def close(self):
            pass

        def get_attr(self, attr_name, indices=None):
            return [getattr(self, attr_name)] * self.num_envs

        def set_attr(self, attr_name, value, indices=None):
            setattr(self, attr_name, value)

        def env_method(self, method_name, *args, indices=None, **kwargs):
            raise NotImplementedError

        def env_is_wrapped(self, wrapper_class, indices=None):
            return [False] * self.num_envs

    class Look(BaseCallback):
        def _on_step(self):
            return True

        def _on_rollout_start(self):
            look(self.num_timesteps, lambda obs: torch.tensor(model.predict(world.normalize_obs(obs.numpy()), deterministic=True)[0]))

    world = VecNormalize(VecMonitor(Lanes(LANES)), gamma=0.99)
    model = PPO("MlpPolicy", world, n_steps=2048 // LANES, seed=seed, device="cpu", verbose=0)
    model.learn(steps, callback=Look())
    look(model.num_timesteps, lambda obs: torch.tensor(model.predict(world.normalize_obs(obs.numpy()), deterministic=True)[0]))


def by_gradient(critic):
    """The learner of the example, with or without its critic."""
    def run(name, steps, seed, look):
        env = envs.make(name, LANES, dtype=torch.float32)
        shac.learn(env, steps, shac.Settings(critic=critic), seed,
                   progress=lambda done, policy: look(done, lambda obs: policy(obs, noise=False)))
    return run


LEARNERS = {"ppo": ppo, "shac": by_gradient(True), "first-order": by_gradient(False)}


def curve(learner, name, steps, seed, looks):
    """[(steps, return of an episode, seconds)], judged about `looks` times, judging not counted."""
    test, rows, spent, ended, began = envs.make(name, 16, dtype=torch.float32), [], [0.0], [], time.perf_counter()

    def look(done, act, last=False):
        ended[:] = done, act
        if rows and not last and done < rows[-1][0] + steps / looks or rows and done == rows[-1][0]:
            return
        at = time.perf_counter()
        rows.append((int(done), shac.judge(test, act), at - began - spent[0]))
        spent[0] += time.perf_counter() - at
        print(f"  {name} {learner} {seed}: {rows[-1][0]:7d} steps {rows[-1][1]:8.1f}", flush=True)

    LEARNERS[learner](name, steps, seed, look)
    look(*ended, last=True)
    return rows


def draw(runs, path):
    """A panel a task, a line a run."""
    import matplotlib
    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    tasks = sorted({r["task"] for r in runs})
    figure, panels = plt.subplots(1, len(tasks), figsize=(4.5 * len(tasks), 3.2), squeeze=False, layout="constrained")
    colours = {"shac": "C0", "first-order": "C2", "ppo": "C1"}
    for panel, task in zip(panels[0], tasks):
        for run in (r for r in runs if r["task"] == task):
            steps, returns, _ = zip(*run["rows"])
            named = run["learner"] not in panel.get_legend_handles_labels()[1]
            panel.plot(steps, returns, color=colours[run["learner"]], label=run["learner"] if named else None, lw=1.2)
        panel.set(title=task, xlabel="steps of the environment", ylabel="return of an episode")
        panel.set_ylim(bottom=max(panel.get_ylim()[0], -150))
        panel.legend(frameon=False)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["half_cheetah", "swing_up"], choices=list(envs.TASKS))
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--looks", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/learning"))
    parser.add_argument("--draw", nargs="+", type=pathlib.Path, help="only draw the runs of these files, together")
    asked = parser.parse_args()
    if asked.draw:
        draw([run for file in asked.draw for run in json.loads(file.read_text())], asked.out)
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    runs = []
    for task in asked.tasks:
        for seed in range(asked.seeds):
            for learner in asked.learners:
                rows = curve(learner, task, asked.steps, seed, asked.looks)
                runs.append({"task": task, "learner": learner, "seed": seed, "rows": rows})
                third = [r for s, r, _ in rows if s <= asked.steps / 3][-1]
                print(f"{task:14} {learner:12} seed {seed}: {rows[-1][1]:8.1f} after {rows[-1][0]} steps, {third:8.1f} after a third, {rows[-1][2]:6.1f} s",
                      flush=True)
                (asked.out / "curves.json").write_text(json.dumps(runs))
    draw(runs, asked.out / "curves.svg")
    print(f"curves: {asked.out / 'curves.svg'}")


if __name__ == "__main__":
    main()
