"""Ctrl-C in every long call: KeyboardInterrupt within a second, and what is left of the work is of use."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
needs = pytest.importorskip

CHEETAH = "model = tg.load(MODELS + '/half_cheetah.xml'); sim = tg.Sim(model, dt=0.01); batch = tg.Batch(model, dt=0.01, threads=2); U = np.zeros((6, 60000, model.nu))"
BALLS = """
BALL = '<body pos="{x} 0 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/></body>'
soft = tg.loads('<mujoco><worldbody>' + ''.join(BALL.format(x=0.199 * i) for i in range(8)) + '</worldbody></mujoco>')
"""
LONG_TASK = """
open('long.yaml', 'w').write(open(MODELS + '/half_cheetah_reach.yaml').read().replace('half_cheetah.xml', MODELS + '/half_cheetah.xml').replace('steps: 400', 'steps: 300000'))
task = tg.Task('long.yaml')
"""
LONG_POLE = """
open('pole.yaml', 'w').write(open(MODELS + '/cartpole.yaml').read().replace('cartpole.xml', MODELS + '/cartpole.xml').replace('steps: 500', 'steps: 2000').replace('stop_loss: 1.0e-7', 'stop_loss: 0'))
task = tg.Task('pole.yaml', contact='softmin', method='ddp')
"""
USABLE = "assert np.isfinite(sim.rollout(steps=5).q).all()"
AGAIN = "assert np.isfinite(batch.rollout(u=U[:, :5].copy()).q).all()"
# XLA computes on in a thread of its own, and the batch is in use until it ends
ANOTHER = AGAIN.replace("batch.", "tg.Batch(model, dt=0.01, threads=2).")
OPTIMIZE = "task = tg.Task(MODELS + '/{task}.yaml', contact='{contact}', method='{method}', iterations=100000)"
PART = """
part = task.interrupted
assert part is not None and part.iterations > 0 and part.status == 'cancelled by the caller', part
assert abs(task.fun(part.x)[0] - part.loss) <= 1e-9 * part.loss
assert len(part.curve) == part.iterations and part.loss <= part.first_loss
"""

# name: (before, the call, what holds after it)
CASES = {
    "Sim.rollout": (CHEETAH, "sim.rollout(steps=2_000_000)", "part = sim.interrupted; assert 0 < part.steps < 2_000_000 and np.isfinite(part.q[: part.steps]).all();" + USABLE),
    "Rollout.backward": (CHEETAH + "; roll = sim.rollout(U[0])", "roll.backward(dq=np.ones(model.nv))", "assert roll.steps == 60000;" + USABLE),
    "Rollout.write_replay": (CHEETAH + "; roll = sim.rollout(U[0])", "[roll.write_replay('a.html', viewer=VIEWER) for _ in range(20)]", "assert roll.steps == 60000;" + USABLE),
    "Batch.rollout": (CHEETAH, "batch.rollout(u=np.zeros((400, 3000, model.nu)))",
                      "part = batch.interrupted; done = [i for i, ok in enumerate(part.ok) if ok]; assert 0 < len(done) < 400 and all(part.steps[i] == 3000 for i in done);" + AGAIN),
    "BatchRollout.backward": (CHEETAH + "; rolls = batch.rollout(u=np.zeros((400, 300, model.nu)))", "[rolls.backward(dq=np.ones((400, model.nv))) for _ in range(50)]",
                              "part = batch.interrupted; assert len(part.ok) == 400 and not all(part.ok) and all(rolls.ok);" + AGAIN),
    "Batch.vjp": (CHEETAH, "batch.vjp(u=np.zeros((400, 2000, model.nu)), dq=np.ones((400, model.nv)))",
                  "part = batch.interrupted; done = [i for i, ok in enumerate(part.ok) if ok]; assert 0 < len(done) < 400 and abs(part.u[done]).max() > 0;" + AGAIN),
    "gradcheck": (BALLS + "sim = tg.Sim(soft, contact='softmin', dt=1e-3)", "[tg.gradcheck(sim) for _ in range(100000)]", USABLE),
    "Sim.rollout_hvp": (BALLS + "sim = tg.Sim(soft, contact='softmin', dt=1e-4)", "sim.rollout_hvp(np.zeros((100000, 0)), gq=np.ones((100001, 16)), dv0=np.ones(16))", USABLE),
    "Sim.hessian": (BALLS.replace("range(8)", "range(40)") + "sim = tg.Sim(soft, contact='softmin', dt=1e-4); sim.step()", "sim.hessian()",
                    "assert np.isfinite(sim.hvp(np.ones(160), np.ones(160))).all(); sim.step();" + USABLE),
    "Sim.step": (CHEETAH, "[sim.step() for _ in range(100_000_000)]", USABLE),
    "Task.fun": (LONG_TASK, "task.fun(task.x0)", "assert task.size > 0"),
    "Task.trajectory": (LONG_TASK, "task.trajectory(task.x0)", "assert task.size > 0"),
    **{f"Task.optimize {method}": (OPTIMIZE.format(task="half_cheetah_reach", contact="lcp", method=method), "task.optimize()", PART)
       for method in ("adam", "descent", "cem", "random", "bundle", "gauss_newton")},
    "Task.optimize lbfgs": (OPTIMIZE.format(task="jump_worm", contact="softmin", method="lbfgs"), "task.optimize()", PART),
    "Task.optimize ilqr": (LONG_TASK.replace("300000", "800").replace("'long.yaml')", "'long.yaml', method='ilqr')"), "task.optimize()", PART),
    "Task.optimize ddp": (LONG_POLE, "task.optimize()", PART),
    "Task.optimize shooting": (OPTIMIZE.format(task="jump_worm", contact="lcp", method="shooting"), "task.optimize()", PART),
    "load": ("faces = 400\n" + """
t = np.linspace(0, 6.283185307, 260, endpoint=False)
ring = np.stack([np.cos(t), np.sin(t)], 1)
P = np.array([[(2 + 0.5 * np.cos(s)) * c, (2 + 0.5 * np.cos(s)) * d, 0.5 * np.sin(s)] for c, d in ring for s in t])
with open('torus.obj', 'w') as f:
    f.writelines('v %.9g %.9g %.9g\\n' % tuple(p) for p in P)
    n = len(t)
    for i in range(n):
        for j in range(n):
            a, b, c, d = (i * n + j, (i + 1) % n * n + j, (i + 1) % n * n + (j + 1) % n, i * n + (j + 1) % n)
            f.write('f %d %d %d\\nf %d %d %d\\n' % (a + 1, b + 1, c + 1, a + 1, c + 1, d + 1))
open('torus.xml', 'w').write('<mujoco><asset><mesh name="m" file="torus.obj"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>')
""", "[tg.load('torus.xml') for _ in range(1000)]", "assert tg.loads('<mujoco/>').nq == 0"),
    "plot.landscape": ("import matplotlib.figure, tangere.plot\n" + "task = tg.Task(MODELS + '/half_cheetah_reach.yaml')", "tg.plot.landscape(task, along=[0, 1], span=(-1, 1), n=400)", """
part = tg.plot.interrupted
known = np.isfinite(part.data['loss']).ravel()
count = int(known.sum())
assert 0 < count < known.size and known[:count].all() and np.isfinite(part.data['difference'].reshape(2, -1)[:, :count]).all()
assert part.data['loss'][0, 0] == task.fun(task.x0 - np.eye(task.size)[0] - np.eye(task.size)[1])[0]
part.save('part.png')"""),
    "plot.force_profile": ("import matplotlib.figure, tangere.plot", "tg.plot.force_profile(MODELS + '/two_spheres.xml', 'y', (0.12, 0.14), ['lcp', 'barrier'], n=60000)", """
part = tg.plot.interrupted
assert 0 < np.isfinite(part.data['lcp']).sum() < 60000 and np.isnan(part.data['barrier']).all()"""),
    "replay.write": (CHEETAH + "; roll = sim.rollout(U[0, :20000].copy())", "[tg.replay.write('b.html', roll) for _ in range(50)]", "assert not [f for f in os.listdir(tempfile.gettempdir()) if f.startswith('tangere-replay-')]"),
    "torch forward": ("import torch, tangere.torch\n" + CHEETAH, "tangere.torch.rollout(batch, *START)", AGAIN),
    "torch backward": ("import torch, tangere.torch\n" + CHEETAH, "q, v = tangere.torch.rollout(batch, *(x.requires_grad_() for x in SHORT)); loss = q.sum()\nwhile True: loss.backward(retain_graph=True)", AGAIN),
    "jax rollout": ("import jax, tangere.jax; jax.config.update('jax_enable_x64', True)\n" + CHEETAH,
                    "tangere.jax.rollout(batch, np.tile(model.field('qpos0'), (400, 1)), np.zeros((400, model.nv)), np.zeros((400, 3000, model.nu)))[0].block_until_ready()", ANOTHER),
    "jax grad": ("import jax, tangere.jax; jax.config.update('jax_enable_x64', True)\n" + CHEETAH +
                 "\nslope = jax.jit(jax.grad(lambda u: tangere.jax.rollout(batch, np.tile(model.field('qpos0'), (400, 1)), np.zeros((400, model.nv)), u)[0].sum()))",
                 "slope(np.zeros((400, 3000, model.nu))).block_until_ready()", ANOTHER),
}
FRAMES = """
START = torch.tensor(np.tile(model.field('qpos0'), (400, 1))), torch.zeros(400, model.nv).double(), torch.zeros(400, 3000, model.nu).double()
SHORT = START[0], START[1], torch.zeros(400, 300, model.nu).double()
"""

CHILD = """
import os, signal, sys, tempfile, time
import numpy as np
import tangere as tg
from tangere import replay
tg.replay = replay
MODELS, VIEWER = sys.argv[1:]
{before}
signal.signal(signal.SIGINT, signal.default_int_handler)   # a shell's background processes have none
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    {after}
    print("left", flush=True)
else:
    print("ended by itself", flush=True)
"""


def child(before, call, after, folder):
    def indented(text):
        return "\n    ".join(text.strip().splitlines())

    page = folder / "page.html"
    page.write_text('<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>')
    program = CHILD.format(before=before, call=indented(call), after=indented(after))
    environment = dict(os.environ, TMPDIR=str(folder), MPLBACKEND="agg", PYTHONUNBUFFERED="1", TANGERE_TELL_LEAKS="1")
    with open(folder / "errors", "w") as errors:
        return subprocess.Popen([sys.executable, "-c", program, str(MODELS), str(page)], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)


def interrupt(running, errors, patience=30, after=0.5):
    """Sends SIGINT in mid-call, `after` seconds from its start; returns the seconds until KeyboardInterrupt, when what is left has been looked at."""
    try:
        assert running.stdout.readline().strip() == "ready", errors.read_text()
        time.sleep(after)
        assert running.poll() is None, errors.read_text()
        sent = time.monotonic()
        running.send_signal(signal.SIGINT)
        first = running.stdout.readline().strip()
        seconds = time.monotonic() - sent
        second = running.stdout.readline().strip()
        assert (first, second) == ("interrupted", "left"), f"{first} {second} {errors.read_text()}"
        return seconds
    finally:
        try:
            running.wait(patience if sys.exc_info()[0] is None else 0.1)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        running.stdout.close()


@pytest.mark.parametrize("name", CASES)
def test_interrupt(name, tmp_path):
    before, call, after = CASES[name]
    if name.startswith("torch"):
        needs("torch")
        before += FRAMES
    if name.startswith("jax"):
        needs("jax")
    if name.startswith("plot"):
        needs("matplotlib")
    if name == "replay.write" and not (pathlib.Path(needs("tangere").__file__).parent / "share/tangere/viewer.html").exists():
        pytest.skip("the package is made without the replay's page")
    running, errors = child(before, call, after, tmp_path), tmp_path / "errors"
    # an iteration of softmin takes a second of a processor, several on a busy machine
    assert interrupt(running, errors, 2 if name.startswith("jax") else 30, 6 if name.endswith("lbfgs") else 0.5) < 1
    if not name.startswith(("jax", "torch")):   # which keep what they have compiled or recorded to the end
        assert running.returncode == 0 and "leaked" not in errors.read_text(), errors.read_text()   # nanobind tells of objects that nobody let go
