#!/usr/bin/env python3
"""MuJoCo's side of the pushing of a T (reproduction SM-R3): finds control sequences, replays them, times steps.

usage: build/venv/bin/python tools/push_t.py search GOAL ...      # finds the sequences (no GOAL: all) and writes models/push_t.npz
       build/venv/bin/python tools/push_t.py replay FILE          # final poses in MuJoCo of the sequences (u) of a file; no FILE: of models/push_t.npz, which is renewed
       build/venv/bin/python tools/push_t.py times               # step times of MuJoCo and MJX

The search is VP-STO's (Jankowski et al. 2023) in small: the finger's target follows the curve of least squared acceleration through via points,
at rest at both ends, and CMA-ES decides the via points. Same seed, same sequences, for the versions that models/push_t.npz names.
"""
import pathlib
import sys
import time
from importlib import metadata

import mujoco
import numpy as np
from mujoco import rollout

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILE = ROOT / "models/push_t.npz"
GOALS = 5
SECONDS, HOLD = 4.0, 0.016              # a target is held for 16 ms, the longest step that is replayed
NHOLD, NVIA = round(SECONDS / HOLD), 8
SEARCH_STEP = 0.004                     # RK4, in the search [s]
STEPS = (0.002, 0.008, 0.016)           # of the replays [s]
INTEGRATORS = {"rk4": mujoco.mjtIntegrator.mjINT_RK4, "euler": mujoco.mjtIntegrator.mjINT_EULER}
NEAR, TURN = 0.01, np.deg2rad(5)        # reached: the T's centre of mass within 1 cm and its angle within 5 degrees
START = np.array([0.0, -0.25])          # the finger's drawn place: what targets are counted from
BOXES = np.array([[0, 0.0625, 0.1, 0.025], [0, -0.0625, 0.025, 0.1]])   # centre and half sizes of bar and stem in the T's frame
RADIUS = 0.015


def goals():
    """Five poses (x, y, angle) of the T, up to 10 cm and 60 degrees from where it stands, at least half of that in each."""
    rng = np.random.default_rng(1)
    far, turn, way = rng.uniform(0.05, 0.1, GOALS), rng.uniform(0.5, 1, GOALS) * np.pi / 3, rng.uniform(0, 2 * np.pi, GOALS)
    return np.stack([far * np.cos(way), far * np.sin(way), turn * rng.choice([-1, 1], GOALS)], axis=1)


def curve():
    """Map (NHOLD x NVIA) from via points at even times to held targets: clamped cubic splines from 0, at rest at both ends."""
    knots = np.linspace(0, SECONDS, NVIA + 1)
    h, n = knots[1], NVIA + 1
    A, B = np.zeros((n, n)), np.zeros((n, n))           # A slopes = B values: continuous second derivatives, slopes 0 at the ends
    A[0, 0] = A[-1, -1] = 1
    for i in range(1, n - 1):
        A[i, i - 1:i + 2] = 1, 4, 1
        B[i, i - 1], B[i, i + 1] = -3 / h, 3 / h
    slope = np.linalg.solve(A, B)
    t = (np.arange(NHOLD) + 0.5) * HOLD
    i = np.minimum((t / h).astype(int), NVIA - 1)
    s = (t / h - i)[:, None]
    value = np.eye(n)
    X = (1 + 2*s)*(1 - s)**2 * value[i] + s*s*(3 - 2*s) * value[i + 1] + h*s*(1 - s)**2 * slope[i] - h*s*s*(1 - s) * slope[i + 1]
    return X[:, 1:]


class Pusher:
    """The scene in MuJoCo: Coulomb's cone itself (elliptic), all else as MuJoCo has it by default."""

    def __init__(self, integrator, dt):
        self.model = mujoco.MjModel.from_xml_path(str(ROOT / "models/push_t.xml"))
        self.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.model.opt.integrator = INTEGRATORS[integrator]
        self.model.opt.timestep = dt
        self.data = [mujoco.MjData(self.model) for _ in range(2)]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.first = np.zeros(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data[0], self.first, kind)

    def run(self, u):
        """u: n x NHOLD x 2 targets. Time, then q (9) and v (8) after every step: n x steps x 18."""
        each = round(HOLD / self.model.opt.timestep)
        states, _ = rollout.rollout(self.model, self.data, np.tile(self.first, (len(u), 1)), np.repeat(u, each, axis=1))
        return states


def pose(states):
    """(x, y, angle) of the T from states whose last axis is MuJoCo's."""
    q = states[..., 4:8]
    return np.stack([states[..., 1], states[..., 2], np.arctan2(2 * (q[..., 0]*q[..., 3] + q[..., 1]*q[..., 2]), 1 - 2 * (q[..., 2]**2 + q[..., 3]**2))], axis=-1)


def gap(states):
    """Distance of the finger from the T in the plane, below 0 in contact."""
    p = pose(states)
    d = states[..., 8:10] + START - p[..., :2]
    c, s = np.cos(p[..., 2]), np.sin(p[..., 2])
    x = np.stack([c * d[..., 0] + s * d[..., 1], c * d[..., 1] - s * d[..., 0]], axis=-1)
    far = np.abs(x[..., None, :] - BOXES[:, :2]) - BOXES[:, 2:]
    box = np.linalg.norm(np.maximum(far, 0), axis=-1) + np.minimum(far.max(axis=-1), 0)
    return box.min(axis=-1) - RADIUS


def touches(g, dt):
    """Contacts made and broken in gaps over time: touched for 40 ms or more, then 5 mm or more apart."""
    count, held, on = 0, 0.0, False
    for x in g:
        held = held + dt if x <= 2e-4 else held
        on = on or held >= 0.04
        if x > 0.005:
            count, held, on = count + on, 0.0, False
    return count


def turn(a):
    return (a + np.pi) % (2 * np.pi) - np.pi


def costs(states, u, goal, dt):
    """Squared errors in units of what is reached, a little squared acceleration of the targets, and 30 for each contact short of two."""
    p, g = pose(states[:, -1]), gap(states)
    miss = ((p[:, :2] - goal[:2])**2).sum(1) / NEAR**2 + (turn(p[:, 2] - goal[2]) / TURN)**2
    bend = (np.diff(u, 2, axis=1)**2).sum((1, 2)) / HOLD**3
    short = np.array([max(0, 2 - touches(x, dt)) for x in g])
    return miss + 0.02 * bend + 30 * short, miss


def search(k, goal, restarts=6):
    """Via points that reach the goal, targets, and simulations made; the best of the restarts until one reaches it."""
    import cma

    X, pusher, dt = curve(), Pusher("rk4", SEARCH_STEP), SEARCH_STEP
    rng, simulations, best = np.random.default_rng(100 + k), 0, (np.inf, None)

    def cost(batch):
        u = np.einsum("ti,nik->ntk", X, np.reshape(batch, (len(batch), NVIA, 2)))
        return costs(pusher.run(u), u, goal, dt)[0]

    for r in range(restarts):
        ring = rng.uniform(-0.2, 0.2, (48, NVIA, 2)) - START         # targets anywhere about the T
        first = cost(ring)
        simulations += len(ring)
        es = cma.CMAEvolutionStrategy(ring[first.argmin()].ravel(), 0.04, {"seed": 1000 * (k + 1) + r, "popsize": 20, "maxiter": 120, "verbose": -9, "ftarget": 1.0})
        while not es.stop():
            batch = es.ask()
            es.tell(batch, list(cost(np.array(batch))))
            simulations += len(batch)
        print(f"goal {k}, start {r}: cost {es.result.fbest:.3g} after {simulations} simulations", flush=True)
        if es.result.fbest < best[0]:
            best = es.result.fbest, es.result.xbest.reshape(NVIA, 2)
        if best[0] < 2:
            break
    return best[1], X @ best[1], simulations


def replay(u):
    """Final poses, sequences x integrators (rk4, euler) x steps x 3, and contacts made and broken at RK4 and the shortest step."""
    final = np.zeros((len(u), len(INTEGRATORS), len(STEPS), 3))
    for i, integrator in enumerate(INTEGRATORS):
        for j, dt in enumerate(STEPS):
            states = Pusher(integrator, dt).run(u)
            final[:, i, j] = pose(states[:, -1])
            if (i, j) == (0, 0):
                count = [touches(g, dt) for g in gap(states)]
    return final, np.array(count, np.int32)


def report(u, goal):
    final, count = replay(u)
    for k in range(len(u)):
        print(f"goal {k}: {count[k]} contacts")
        for i, integrator in enumerate(INTEGRATORS):
            for j, dt in enumerate(STEPS):
                x = final[k, i, j] - goal[k]
                print(f"   {integrator:5s} {1e3 * dt:2.0f} ms  {100 * np.hypot(x[0], x[1]):6.2f} cm {np.rad2deg(turn(x[2])):7.2f} deg from the goal")
    return final, count


def write(u, via, simulations):
    goal = goals()
    final, count = report(u, goal)
    versions = f"mujoco {mujoco.__version__}, cma {metadata.version('cma')}, numpy {np.__version__}"
    np.savez(FILE, u=u, via=via, goal=goal, simulations=simulations, final=final, contacts=count, hold=np.float64(HOLD), steps=np.array(STEPS),
             versions=np.frombuffer(versions.encode(), np.uint8))


def time_step(step, count):
    """Milliseconds a step: the least of seven runs of `count`, which other work on the machine does not lengthen much."""
    each = []
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(count):
            step()
        each.append(1e3 * (time.perf_counter() - began) / count)
    return min(each)


def step_times(integrator):
    """Step times [ms] of MuJoCo and of MJX with the finger against the T's stem; where mujoco-mjx or jax cannot be imported None for MJX's, and why."""
    p = Pusher(integrator, STEPS[0])
    d = p.data[0]
    for _ in range(1000):
        d.ctrl[:] = 0, 0.08
        mujoco.mj_step(p.model, d)
    one = time_step(lambda: mujoco.mj_step(p.model, d), 2000)
    try:
        import jax
        from mujoco import mjx
    except ImportError as why:
        return one, None, str(why)
    model, step = mjx.put_model(p.model), jax.jit(mjx.step)
    x = [step(model, mjx.put_data(p.model, d))]

    def next_step():
        x[0] = jax.block_until_ready(step(model, x[0]))
    return one, time_step(next_step, 50), f"jax {jax.__version__} on {jax.devices()[0].platform}"


def times():
    for integrator in INTEGRATORS:
        one, jitted, note = step_times(integrator)
        print(f"mujoco.{integrator}.step_ms {one:.4g}")
        print(f"mjx.{integrator}.step_ms {jitted:.4g}   {note}" if jitted is not None else f"mjx.{integrator}.step_ms not measured: {note}")


def main():
    command, rest = sys.argv[1] if len(sys.argv) > 1 else "", sys.argv[2:]
    old = dict(np.load(FILE)) if FILE.exists() else {"u": np.zeros((GOALS, NHOLD, 2)), "via": np.zeros((GOALS, NVIA, 2)), "simulations": np.zeros(GOALS, np.int32)}
    if command == "search":
        for k in map(int, rest or range(GOALS)):
            old["via"][k], old["u"][k], old["simulations"][k] = search(k, goals()[k])
            write(old["u"], old["via"], old["simulations"])
    elif command == "replay" and rest:
        report(np.load(rest[0])["u"], goals())
    elif command == "replay":
        write(old["u"], old["via"], old["simulations"])
    elif command == "times":
        times()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
