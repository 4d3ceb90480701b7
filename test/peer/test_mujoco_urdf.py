"""Dynamics against MuJoCo on URDF robots (geometry stripped, links not fused), by the protocol of test_mujoco.py; names map bodies and joints."""
import pathlib

import mujoco
import numpy as np
import pytest

from robots import ROBOTS, stripped
from tangere import Sim
from test_mujoco import mass_matrix, near, six, tensor

# what MuJoCo refuses to compile though we load it, by its reason; test_refusals_of_mujoco keeps this honest
NOT_IN_MUJOCO = {"finger_edu": "eigenvalues", "hyq_no_sensors": "eigenvalues", "anymal": "eigenvalues", "b1-z1": "eigenvalues",
                 "allegro_right_hand": "balanceinertia", "pr2": "balanceinertia"}
HERE = [n for n in ROBOTS if pathlib.Path(n).stem not in NOT_IN_MUJOCO]


def compiled(name):
    m = mujoco.MjModel.from_xml_path(str(stripped(name, mujoco=True)))
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return m


def test_refusals_of_mujoco():
    assert len(HERE) >= 10
    for name in ROBOTS:
        reason = NOT_IN_MUJOCO.get(pathlib.Path(name).stem)
        if reason is not None:
            with pytest.raises(ValueError, match=reason):
                compiled(name)


@pytest.fixture(scope="module", params=HERE, ids=lambda n: pathlib.Path(n).stem)
def pair(request):
    s, m = Sim(stripped(request.param), fixed_base=True), compiled(request.param)
    bodies, joints = s.names("body"), s.names("joint")
    assert sorted(m.body(b).name for b in range(1, m.nbody)) == sorted(bodies[1:])
    b = np.array([0] + [bodies.index(m.body(i).name) for i in range(1, m.nbody)])
    v = np.array([s.field("jnt_vadr")[joints.index(m.joint(i).name), 0] for i in range(m.njnt)], int)
    assert s.nv == m.nv == len(v)  # hinges and slides only
    for i in range(1, m.nbody):
        near(s.param("body_mass")[b[i], 0], m.body_mass[i], 2e-6, f"mass of {m.body(i).name}")
        scale = max(np.abs(m.body_inertia[i]).max(), 1e-9)
        if m.body_mass[i] > 0:
            near(s.param("body_com")[b[i]], m.body_ipos[i], 2e-6, f"com of {m.body(i).name}")
            near(s.param("body_inertia")[b[i]] / scale, six(tensor(m, i)) / scale, 2e-6, f"inertia of {m.body(i).name}")
        s.param("body_mass")[b[i], 0], s.param("body_com")[b[i]], s.param("body_inertia")[b[i]] = m.body_mass[i], m.body_ipos[i], six(tensor(m, i))
    return s, m, b, v


def test_dynamics(pair):
    s, m, b, v = pair
    d, rng = mujoco.MjData(m), np.random.default_rng(5)
    for _ in range(4):
        d.qpos[:], d.qvel[:] = rng.normal(size=m.nq), rng.normal(size=m.nv)
        s.qpos[v], s.qvel[v] = d.qpos, d.qvel
        mujoco.mj_forward(m, d)
        s.forward()
        near(s.field("xpos")[b], d.xpos, 1e-10, "xpos")
        near(s.field("xmat")[b], d.xmat, 1e-10, "xmat")
        M = mass_matrix(m, d)
        near(s.field("M")[np.ix_(v, v)], M, 1e-10, "mass matrix")
        near(s.field("bias")[v, 0], d.qfrc_bias, 1e-10, "bias")
        near(s.field("qfrc_passive")[v, 0], d.qfrc_passive, 1e-10, "passive forces")
        a, tau = rng.normal(size=m.nv), rng.normal(size=m.nv)
        full = np.zeros(m.nv)
        full[v] = tau
        ours = s.acceleration(full)[v]
        residual = M @ ours + d.qfrc_bias - tau
        assert np.abs(residual).max() <= 1e-12 * (np.abs(M) @ np.abs(ours) + np.abs(d.qfrc_bias) + np.abs(tau)).max()
        passive = np.array(d.qfrc_passive)
        d.qacc[:] = a
        mujoco.mj_inverse(m, d)
        full[v] = a
        near(s.inverse(full)[v], d.qfrc_inverse + passive, 1e-10, "inverse dynamics")
