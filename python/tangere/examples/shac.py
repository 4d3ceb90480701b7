"""A policy learns to run a half-cheetah by the gradient through short windows, with a critic beyond them (PyTorch).

Short-horizon actor-critic of Xu et al., "Accelerated Policy Learning with Parallel Differentiable Simulation" [Xu2022]: the policy
goes up the gradient of the return of a window of h steps and the value of the state that it ends in,

    J = sum_{t < h} gamma^t r_t + gamma^h V(s_h),

through policy, rewards and engine; the critic V is fitted to returns of TD(lambda) in between. Without the critic (`critic=False`) it is
plain first-order policy learning: the gradient of the rewards of the window alone.
"""

from __future__ import annotations

import copy
import dataclasses
import pathlib
from collections.abc import Callable

import torch

from tangere import envs

from . import leave

Tensor = torch.Tensor
STEPS = 20_000   # of all lanes together


@dataclasses.dataclass
class Settings:
    """Of the learner; rates, epochs and networks are of the size that the paper has."""

    horizon: int = 16            # steps of a window
    critic: bool = True
    gamma: float = 0.99
    lam: float = 0.95            # of TD(lambda)
    actor_rate: float = 2e-3
    critic_rate: float = 2e-3
    critic_epochs: int = 8
    critic_parts: int = 4
    follow: float = 0.2          # share of the old critic in the one that targets are made with
    clip: float = 1.0            # bound of the norm of a gradient
    hidden: int = 64


class Policy(torch.nn.Module):
    """Normal actions about tanh of a network, with the observations scaled by their running mean and spread."""

    mean: Tensor
    square: Tensor

    def __init__(self, size: int, nu: int, hidden: int) -> None:
        super().__init__()
        self.net = network(size, nu, hidden)
        self.spread = torch.nn.Parameter(torch.full((nu,), -1.0))
        self.count = 1e-4
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("square", torch.ones(size))

    def scaled(self, obs: Tensor) -> Tensor:
        """Observations as the networks see them."""
        return ((obs - self.mean) / (self.square + 1e-5).sqrt()).clamp(-10, 10)

    def learn_scale(self, seen: Tensor) -> None:
        """Takes observations (n, size) into mean and spread."""
        n, whole = len(seen), self.count + len(seen)
        shift = seen.mean(0) - self.mean
        self.square = (self.count * self.square + n * seen.var(0, unbiased=False) + shift ** 2 * self.count * n / whole) / whole
        self.mean, self.count = self.mean + shift * n / whole, whole

    def forward(self, obs: Tensor, noise: bool = True) -> Tensor:
        """Actions (n, nu) for observations (n, size)."""
        mean: Tensor = self.net(self.scaled(obs))
        return torch.tanh(mean + self.spread.exp() * torch.randn_like(mean) if noise else mean)


def network(size: int, out: int, hidden: int) -> torch.nn.Sequential:
    """Two hidden layers."""
    return torch.nn.Sequential(torch.nn.Linear(size, hidden), torch.nn.ELU(), torch.nn.LayerNorm(hidden),
                               torch.nn.Linear(hidden, hidden), torch.nn.ELU(), torch.nn.LayerNorm(hidden), torch.nn.Linear(hidden, out))


def window(env: envs.Env, policy: Policy, value: Callable[[Tensor], Tensor], s: Settings, obs: Tensor
           ) -> tuple[Tensor, list[Tensor], Tensor]:
    """The loss of a window from obs, what the critic is fitted to (observations, rewards, values after a step, ends), and the observations
    that the next window begins at."""
    zeros, ones = torch.zeros(env.lanes, device=env.device), torch.ones(env.lanes, device=env.device)
    total, discount = zeros, ones
    kept: list[list[Tensor]] = [[], [], [], []]
    for t in range(s.horizon):
        seen = obs
        obs, reward, done, info = env.step(policy(obs))
        after = value(info["final"]) * ~info["terminated"]
        last = done if t + 1 < s.horizon else torch.ones_like(done)
        total = total + discount * reward + torch.where(last, discount * s.gamma * after, zeros)
        discount = torch.where(done, ones, discount * s.gamma)
        for rows, row in zip(kept, (seen, reward, after, last)):
            rows.append(row.detach())
    return -total.mean() / s.horizon, [torch.stack(rows) for rows in kept], obs


def targets(reward: Tensor, after: Tensor, last: Tensor, s: Settings) -> Tensor:
    """Returns of TD(lambda), (h, lanes): R_t = r_t + gamma ((1 - lambda) V_{t+1} + lambda R_{t+1}), and r_t + gamma V_{t+1} where an
    episode or the window ends."""
    out, later = torch.empty_like(reward), after[-1]
    for t in reversed(range(len(reward))):
        later = torch.where(last[t], after[t], (1 - s.lam) * after[t] + s.lam * later)
        later = reward[t] + s.gamma * later
        out[t] = later
    return out


def fit(critic: torch.nn.Sequential, optimizer: torch.optim.Optimizer, seen: Tensor, wanted: Tensor, s: Settings) -> None:
    """Steps of the critic towards the wanted values of scaled observations."""
    for _ in range(s.critic_epochs):
        for part in torch.randperm(len(seen), device=seen.device).chunk(s.critic_parts):
            loss = (critic(seen[part]).squeeze(-1) - wanted[part]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(critic.parameters(), s.clip)
            optimizer.step()


def learn(env: envs.Env, steps: int, settings: Settings | None = None, seed: int = 0,
          progress: Callable[[int, Policy], None] | None = None) -> Policy:
    """A policy, on the device of the environment, from `steps` steps of it (of all lanes together). progress is called with those made
    before each window."""
    s = settings or Settings()
    torch.manual_seed(seed)
    policy, critic = Policy(env.size, env.model.nu, s.hidden).to(env.device), network(env.size, 1, s.hidden).to(env.device)
    followed = copy.deepcopy(critic).requires_grad_(False)
    optimizers = (torch.optim.Adam(policy.parameters(), s.actor_rate, betas=(0.7, 0.95)),
                  torch.optim.Adam(critic.parameters(), s.critic_rate, betas=(0.7, 0.95)))
    windows = max(1, steps // (env.lanes * s.horizon))
    obs = env.reset(seed)
    policy.learn_scale(obs)
    for k in range(windows):
        if progress is not None:
            progress(k * env.lanes * s.horizon, policy)
        for optimizer, rate in zip(optimizers, (s.actor_rate, s.critic_rate)):
            optimizer.param_groups[0]["lr"] = rate * (1 - 0.95 * k / windows)

        def value(seen: Tensor) -> Tensor:
            out: Tensor = followed(policy.scaled(seen)).squeeze(-1)
            return out if s.critic else torch.zeros(len(seen), device=env.device)

        env.cut()
        loss, (seen, reward, after, last), obs = window(env, policy, value, s, obs.detach())
        optimizers[0].zero_grad()
        loss.backward()   # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(policy.parameters(), s.clip)
        optimizers[0].step()
        obs = obs.detach()
        if s.critic:
            fit(critic, optimizers[1], policy.scaled(seen).flatten(0, 1), targets(reward, after, last, s).flatten(), s)
            with torch.no_grad():
                for old, new in zip(followed.parameters(), critic.parameters()):
                    old.mul_(s.follow).add_((1 - s.follow) * new)
        policy.learn_scale(seen.flatten(0, 1))
    if progress is not None:
        progress(windows * env.lanes * s.horizon, policy)
    return policy


def judge(env: envs.Env, act: Callable[[Tensor], Tensor], seed: int = 1000) -> float:
    """Mean return of an episode of each lane, under actions without noise."""
    obs, returns = env.reset(seed), torch.full((env.lanes,), torch.nan, dtype=torch.float64, device=env.device)
    with torch.no_grad():
        for _ in range(env.definition.steps):
            obs, _, done, info = env.step(act(obs))
            first = done & returns.isnan()
            returns[first] = info["episode_return"][first]
    return float(returns.mean())


def main(out: pathlib.Path) -> dict[str, float]:
    torch.set_num_threads(1)
    env = envs.make("half_cheetah", 8, dtype=torch.float32)
    test = envs.make("half_cheetah", 16, dtype=torch.float32)
    returns: list[float] = []
    told = [0]

    def progress(steps: int, policy: Policy) -> None:
        if steps >= told[0]:
            told[0] = steps + STEPS // 8
            returns.append(judge(test, lambda obs: policy(obs, noise=False)))
            print(f"  {steps:7d} steps: return of an episode {returns[-1]:7.1f}")

    policy = learn(env, STEPS, progress=progress)
    returns.append(judge(test, lambda obs: policy(obs, noise=False)))
    leave(out / "shac.html", test.model, q=test.episode(), dt=test.dt)
    print(f"return of an episode {returns[0]:.1f} before, {returns[-1]:.1f} after")
    return {"before": returns[0], "after": returns[-1]}
