"""Servos at the end of the step against MuJoCo's implicitfast, which has their slope in velocity and not that in length."""
import numpy as np
import pytest
import tangere as tg

mujoco = pytest.importorskip("mujoco")

SCENE = """<mujoco><option timestep="{h}" integrator="{rule}"/><worldbody><body><joint name="a" axis="0 1 0" damping=".01"/>
  <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" density="1000"/><body pos=".3 0 0"><joint name="b" axis="0 1 .3"/>
  <geom type="capsule" size=".02" fromto="0 0 0 .2 .1 0" density="1000"/></body></body></worldbody>
  <actuator>{actuators}</actuator></mujoco>"""


def pair(h, actuators, rule="implicitfast"):
    text = SCENE.format(h=h, rule=rule, actuators=actuators)
    return mujoco.MjModel.from_xml_string(text), tg.loads(text)


def paths(h, actuators, ctrl, seconds=0.4):
    theirs, ours = pair(h, actuators)
    data, sim = mujoco.MjData(theirs), tg.Sim(ours, contact="lcp", dt=h)
    data.qpos[:] = sim.qpos[:] = [0.4, -0.3]
    data.qvel[:] = sim.qvel[:] = [1.0, -2.0]
    data.ctrl[:] = sim.ctrl[:] = ctrl
    mine, peer = [], []
    for _ in range(round(seconds / h)):
        mujoco.mj_step(theirs, data)
        sim.step()
        mine.append(np.array(sim.qpos))
        peer.append(np.array(data.qpos))
    return np.array(mine), np.array(peer)


def test_velocity_servos_are_the_same():
    """Without stiffness both have the same matrix: the same motion but for rounding."""
    mine, peer = paths(0.002, '<velocity joint="a" kv="200"/><velocity joint="b" kv="50" gear="2"/>', [0.5, -0.4])
    assert np.abs(mine - peer).max() < 1e-9


def test_stiff_servos_agree_at_first_order():
    """kp 2000, kv 200 at 2 ms: stable in both, and the difference halves with the step."""
    servos = '<position joint="a" kp="2000" kv="200"/><position joint="b" kp="2000" kv="200"/>'
    off = []
    for h in (0.002, 0.001, 0.0005):
        mine, peer = paths(h, servos, [0.1, 0.2])
        off.append(np.abs(mine - peer).max())
    assert off[0] < 5e-3
    assert off[0] / off[1] > 1.7 and off[1] / off[2] > 1.7


def test_explicit_servos_are_euler():
    """`servos: explicit` is MuJoCo's Euler, soft enough for that."""
    text = '<position joint="a" kp="5" kv=".1"/><position joint="b" kp="3" kv=".05" forcerange="-.2 .3"/>'
    h = 0.001
    theirs, ours = pair(h, text, "Euler")
    data, sim = mujoco.MjData(theirs), tg.Sim(ours, contact="lcp", dt=h, servos="explicit")
    data.qpos[:] = sim.qpos[:] = [0.4, -0.3]
    data.ctrl[:] = sim.ctrl[:] = [0.1, 0.2]
    for _ in range(300):
        mujoco.mj_step(theirs, data)
        sim.step()
    assert np.abs(np.array(sim.qpos) - data.qpos).max() < 1e-9
