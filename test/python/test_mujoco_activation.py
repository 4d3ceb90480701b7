"""Activations against MuJoCo: what files compile to, forces at a state, and activations over steps."""
import mujoco
import numpy as np
import pytest

import tangere as tg

ACTUATORS = {
    "general none": ('', '<general joint="a" gainprm="2"/>'),
    "integrator": ('', '<general joint="a" dyntype="integrator" gainprm="2" actrange="-.3 .2"/>'),
    "filter": ('', '<general joint="a" dyntype="filter" dynprm=".07 9" gainprm="2"/>'),
    "filterexact": ('', '<general tendon="t" dyntype="filterexact" dynprm=".03" gaintype="affine" gainprm="2 .3 .1" ctrlrange="-.5 .5"/>'),
    "default time constant": ('', '<general joint="a" dyntype="filter"/>'),
    "not limited": ('', '<general joint="a" dyntype="integrator" actlimited="false" actrange="-.3 .2"/>'),
    "position": ('', '<position joint="a" kp="3" kv=".1" timeconst=".2"/>'),
    "position without": ('', '<position joint="a" kp="3" timeconst="0"/>'),
    "cylinder": ('', '<cylinder joint="b" timeconst=".1" area="2" bias="1 2 3"/>'),
    "cylinder by diameter": ('', '<cylinder joint="b" diameter=".3" area="7"/>'),
    "intvelocity": ('', '<intvelocity joint="a" kp="2" kv=".3" actrange="-.2 .2"/>'),
    "intvelocity free": ('', '<intvelocity joint="a" kp="2"/>'),
    "intvelocity inherits": ('', '<intvelocity joint="a" inheritrange=".5"/>'),
    "position inherits": ('', '<position joint="a" timeconst=".1" inheritrange="1"/>'),
    "integrator inherits": ('', '<general joint="a" dyntype="integrator" biastype="affine" biasprm="0 -1" inheritrange="1"/>'),
    "inherits nothing": ('', '<general joint="a" dyntype="integrator" inheritrange="1"/>'),
    "class, general": ('<general dyntype="filter" dynprm=".4" actrange="-1 1"/>', '<general joint="a"/>'),
    "class, cylinder": ('<general dyntype="integrator" dynprm=".4" actrange="-1 1"/>', '<cylinder joint="a"/>'),
    "class, intvelocity": ('<general dyntype="filter" dynprm=".4"/>', '<intvelocity joint="a" actrange="-.1 .1"/>'),
    "class position, motor": ('<position timeconst=".4"/>', '<motor joint="a"/>'),
    "class position, position": ('<position timeconst=".4"/>', '<position joint="a"/>'),
    "class position, off": ('<position timeconst=".4"/>', '<position joint="a" timeconst="0"/>'),
    "class position, cylinder": ('<position timeconst=".4"/>', '<cylinder joint="a"/>'),
    "class position, general": ('<position timeconst=".4" kp="3"/>', '<general joint="a"/>'),
    "class cylinder, velocity": ('<cylinder timeconst=".4" area="3"/>', '<velocity joint="a" kv="2"/>'),
    "class filter, position": ('<general dyntype="filter" dynprm=".4"/>', '<position joint="a"/>'),
    "class filterexact, position": ('<general dyntype="filterexact" dynprm=".4"/>', '<position joint="a"/>'),
    "class affine gain, cylinder": ('<general gaintype="affine" gainprm="5 6"/>', '<cylinder joint="a"/>'),
    "class damper, intvelocity": ('<damper kv="3" ctrlrange="0 1"/>', '<intvelocity joint="a" actrange="-1 1"/>'),
}
# "integrator" after "filter" and what has none between: addresses are in the order of actuators
ACTUATORS["all"] = ('', "".join(text for default, text in ACTUATORS.values() if not default))


def both(name):
    default, actuators = ACTUATORS[name]
    xml = f"""<mujoco><option timestep="0.004" gravity="0 0 0"/><default>{default}</default><worldbody>
    <body><joint name="a" type="slide" axis="1 0 0" range="-1 2"/><geom size=".1" mass="1" contype="0" conaffinity="0"/>
    <body><joint name="b" axis="0 1 0" range="-1 1" limited="false"/><geom size=".1" mass=".5" pos="0 0 .4" contype="0" conaffinity="0"/>
    </body></body></worldbody>
    <tendon><fixed name="t"><joint joint="a" coef=".6"/><joint joint="b" coef="-.3"/></fixed></tendon>
    <actuator>{actuators}</actuator></mujoco>"""
    return mujoco.MjModel.from_xml_string(xml), tg.loads(xml)


@pytest.mark.parametrize("name", ACTUATORS)
def test_compiled(name):
    theirs, ours = both(name)
    field = lambda f, n: ours.field(f).reshape(theirs.nu, n)
    assert ours.na == theirs.na
    assert np.array_equal(field("act_activation", 1)[:, 0], theirs.actuator_dyntype)
    assert np.array_equal(field("act_adr", 1)[:, 0], theirs.actuator_actadr)
    assert np.array_equal(field("act_actlimited", 1)[:, 0], theirs.actuator_actlimited)
    limited = theirs.actuator_actlimited.astype(bool)
    assert np.allclose(field("act_actrange", 2)[limited], theirs.actuator_actrange[limited], atol=1e-15)
    assert np.array_equal(field("act_ctrllimited", 1)[:, 0], theirs.actuator_ctrllimited)
    assert np.allclose(field("act_ctrlrange", 2), theirs.actuator_ctrlrange, atol=1e-15)
    filters = theirs.actuator_dyntype >= int(mujoco.mjtDyn.mjDYN_FILTER)
    assert np.array_equal(field("act_timeconst", 1)[filters, 0], theirs.actuator_dynprm[filters, 0])
    assert np.allclose(field("act_gain", 3), theirs.actuator_gainprm[:, :3], atol=1e-15)
    assert np.allclose(field("act_bias", 3), theirs.actuator_biasprm[:, :3], atol=1e-15)


@pytest.mark.parametrize("name", ACTUATORS)
def test_values(name):
    theirs, ours = both(name)
    data, sim, rng = mujoco.MjData(theirs), tg.Sim(ours, contact="lcp"), np.random.default_rng(0)
    for _ in range(8):
        data.qpos[:] = sim.qpos[:] = rng.uniform(-0.5, 0.5, 2)
        data.qvel[:] = sim.qvel[:] = rng.normal(size=2)
        data.act[:] = sim.act[:] = rng.uniform(-0.2, 0.2, ours.na)
        for _ in range(5):
            data.ctrl[:] = sim.ctrl[:] = rng.normal(size=ours.nu) * 20
            data.qpos[:], data.qvel[:] = sim.qpos, sim.qvel   # of ours: the integrators differ in what is implicit
            mujoco.mj_step1(theirs, data)
            mujoco.mj_step2(theirs, data)
            sim.step()
            assert np.allclose(sim.field("act_force").ravel(), data.actuator_force, atol=1e-12)
            assert np.allclose(sim.act, data.act, atol=1e-13)
