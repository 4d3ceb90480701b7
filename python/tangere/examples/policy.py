"""A neural network learns to make a hopping leg go forward, by the gradient through its contacts (PyTorch)."""

from __future__ import annotations

import pathlib

import numpy as np
import torch

import tangere as tg
from tangere.torch import step

from . import MODELS, leave

HORIZON, LANES, TORQUE = 60, 4, 20.0


def walk(net: torch.nn.Module, sim: tg.Sim, q0: np.ndarray) -> tg.Rollout:
    """The motion of one start under the policy, as a rollout of the controls that it chose."""
    sim.reset()
    sim.qpos[:] = q0
    controls = []
    for _ in range(HORIZON):
        seen = torch.tensor(np.concatenate([sim.qpos[1:], sim.qvel]))
        controls.append(TORQUE * net(seen).detach().numpy())
        sim.step(controls[-1])
    return sim.rollout(np.array(controls), q0=q0, v0=np.zeros(sim.qvel.size))


def main(out: pathlib.Path) -> dict[str, float]:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = tg.load(MODELS / "half_cheetah.xml")
    batch = tg.Batch(model, contact="lcp", dt=0.01)
    net = torch.nn.Sequential(torch.nn.Linear(model.nq - 1 + model.nv, 32), torch.nn.Tanh(),
                              torch.nn.Linear(32, model.nu), torch.nn.Tanh()).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    sim = tg.Sim(model, dt=0.01)
    settle = sim.rollout(steps=50)
    rng = np.random.default_rng(0)
    q0 = torch.tensor(settle.q[-1] + 0.02 * rng.standard_normal((LANES, model.nq)))
    q0[:, 1] += 0.02
    first = last = 0.0
    for iteration in range(60):
        q, v = q0, torch.zeros(LANES, model.nv, dtype=torch.float64)
        for _ in range(HORIZON):
            q, v = step(batch, q, v, TORQUE * net(torch.cat([q[:, 1:], v], dim=1)))
        loss = -(q[:, 0] - q0[:, 0]).mean()
        optimizer.zero_grad()
        loss.backward()   # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        last = -float(loss.detach())
        first = first or last
        if iteration % 10 == 0:
            print(f"  iteration {iteration:3d}: {100 * last:6.2f} cm in {HORIZON * 0.01:.1f} s")
    leave(out / "policy.html", walk(net, sim, q0[0].numpy()))
    print(f"forward {100 * first:.2f} cm before, {100 * last:.2f} cm after")
    return {"before": first, "after": last}
