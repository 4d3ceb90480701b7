"""Equalities of tendons and joints held by the steps, judged by MuJoCo: its residuals and their rates vanish at our states."""
import mujoco
import numpy as np
import pytest

import tangere as tg

SCENE = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
<body><joint name="a" axis="0 1 0" ref="20"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
<body pos=".4 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
<body pos="0 1 0"><joint name="c" axis="0 1 0" ref="-10"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<body pos=".3 0 0"><joint name="d" type="slide" axis="1 0 .3"/><geom size=".05"/></body></body></worldbody>
<tendon><fixed name="s"><joint joint="a" coef="1.5"/><joint joint="b" coef="-.7"/></fixed>
<fixed name="t"><joint joint="c" coef=".8"/><joint joint="d" coef="2"/></fixed></tendon>
<equality>%s</equality></mujoco>"""
TIES = {"two tendons": '<tendon tendon1="s" tendon2="t" polycoef="0 .8 .5 -.3 .2"/>', "one tendon": '<tendon tendon1="t"/>',
        "three": '<tendon tendon1="s" tendon2="t" polycoef="0 .5 .4"/><tendon tendon1="t"/><joint joint1="a" joint2="c" polycoef="0 .5 1"/>'}


# rows hold velocities at the start's rows, so to the order of the step; the barrier's ties are springs, which open by about 1e-5 and swing
@pytest.mark.parametrize("contact, position, speed", [("lcp", 1e-8, 1e-3), ("toi", 1e-8, 1e-3), ("barrier", 1e-4, 0.1)])
@pytest.mark.parametrize("ties", TIES)
def test_residuals(contact, position, speed, ties):
    text = SCENE % TIES[ties]
    m = mujoco.MjModel.from_xml_string(text)
    d, sim = mujoco.MjData(m), tg.Sim(tg.loads(text), contact=contact, dt=1e-3)
    d.qpos[:] = m.qpos0
    worst, moved = np.zeros(2), 0
    for _ in range(200):
        sim.step()
        d.qpos[:], d.qvel[:] = sim.qpos, sim.qvel
        mujoco.mj_forward(m, d)
        held = d.efc_type[:d.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        assert held.sum() == m.neq
        worst = np.maximum(worst, [np.abs(d.efc_pos[:d.nefc][held]).max(), np.abs(d.efc_vel[:d.nefc][held]).max()])
        moved = max(moved, np.abs(sim.qpos - m.qpos0).max())
    assert moved > 0.3 and worst[0] < position and worst[1] < speed
