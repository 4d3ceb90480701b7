"""Dynamics against MuJoCo on every MJCF that gymnasium ships, and on one of our own that mixes everything.

Protocol: inertia tensors and frames of the loaded models to 2e-6; then MuJoCo's compiled inertias are copied into our
simulation, its constraints disabled, and mass matrix, bias, inverse dynamics, passive and actuator forces compared to 1e-10, forward
dynamics by residual to 1e-12.
"""
import pathlib

import gymnasium
import mujoco
import numpy as np
import pytest

from tangere import Sim

ASSETS = pathlib.Path(gymnasium.__file__).parent / "envs/mujoco/assets"
OWN = pathlib.Path(__file__).resolve().parents[1] / "data/mjcf"
FILES = sorted(ASSETS.glob("*.xml")) + [OWN / "mixed_joints.xml"]


def near(a, b, tolerance, what):
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert a.shape == b.shape, what
    worst = np.abs(a - b).max(initial=0) / max(1.0, np.abs(b).max(initial=0))
    assert worst <= tolerance, f"{what}: {worst:.3g} > {tolerance:g}"


def tensor(m, b):
    """Inertia of body b about its centre of mass in body axes."""
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, m.body_iquat[b])
    R = R.reshape(3, 3)
    return R @ np.diag(m.body_inertia[b]) @ R.T


def six(J):
    return np.array([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])


def mass_matrix(m, d):
    """Dense M column by column, from mj_mulM: independent of how this version stores it."""
    M = np.zeros((m.nv, m.nv))
    for j in range(m.nv):
        e, r = np.zeros(m.nv), np.zeros(m.nv)
        e[j] = 1
        mujoco.mj_mulM(m, d, r, e)
        M[:, j] = r
    return M


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def pair(request):
    m = mujoco.MjModel.from_xml_path(str(request.param))
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return Sim(request.param), m


def states(s, m, count=5):
    rng = np.random.default_rng(7)
    for k in range(count):
        q = np.array(m.qpos0)
        if k > 0:
            mujoco.mj_integratePos(m, q, rng.normal(size=m.nv), 1.0)
        yield rng, q, rng.normal(size=m.nv), rng.normal(size=m.nu)


def test_files_were_found():
    assert len(FILES) >= 13


def test_layout_and_inertias(pair):
    s, m = pair
    assert (s.nq, s.nv, s.nu, s.nbody) == (m.nq, m.nv, m.nu, m.nbody)
    near(s.field("qpos0")[:, 0], m.qpos0, 1e-12, "qpos0")
    near(s.param("body_pos"), m.body_pos, 2e-6, "body_pos")
    near(s.param("body_mass")[:, 0], m.body_mass, 2e-6, "body_mass")
    for b in range(1, m.nbody):
        scale = max(np.abs(m.body_inertia[b]).max(), 1e-9)
        near(s.param("body_com")[b], m.body_ipos[b], 2e-6, f"com of body {b}")
        near(s.param("body_inertia")[b] / scale, six(tensor(m, b)) / scale, 2e-6, f"inertia of body {b}")


def copy_inertias(s, m):
    s.param("body_mass")[1:, 0] = m.body_mass[1:]
    s.param("body_com")[1:] = m.body_ipos[1:]
    for b in range(1, m.nbody):
        s.param("body_inertia")[b] = six(tensor(m, b))


def test_dynamics(pair):
    s, m = pair
    d = mujoco.MjData(m)
    copy_inertias(s, m)
    for rng, q, v, u in states(s, m):
        a, tau = rng.normal(size=m.nv), rng.normal(size=m.nv)
        d.qpos[:], d.qvel[:], d.ctrl[:], d.qfrc_applied[:] = q, v, u, 0
        s.qpos[:], s.qvel[:], s.ctrl[:] = q, v, u
        mujoco.mj_forward(m, d)
        s.forward()
        near(s.field("xpos"), d.xpos, 1e-10, "xpos")
        near(s.field("xmat"), d.xmat, 1e-10, "xmat")
        near(s.field("xcom")[1:], d.xipos[1:], 1e-10, "xcom")
        near(s.field("site_xpos"), d.site_xpos, 1e-10, "site_xpos")
        M = mass_matrix(m, d)
        near(s.field("M"), M, 1e-10, "mass matrix")
        near(s.field("bias")[:, 0], d.qfrc_bias, 1e-10, "bias")
        near(s.field("qfrc_passive")[:, 0], d.qfrc_passive, 1e-10, "passive forces")
        near(s.field("act_length")[:, 0], d.actuator_length, 1e-10, "actuator lengths")
        near(s.field("act_force")[:, 0], d.actuator_force, 1e-10, "actuator forces")
        near(s.field("qfrc_actuator")[:, 0], d.qfrc_actuator, 1e-10, "generalised actuator forces")
        # forward dynamics: our acceleration in MuJoCo's equation of motion
        ours = s.acceleration(tau)
        residual = M @ ours + d.qfrc_bias - tau
        assert np.abs(residual).max() <= 1e-12 * (np.abs(M) @ np.abs(ours) + np.abs(d.qfrc_bias) + np.abs(tau)).max()
        total = s.acceleration(s.field("tau")[:, 0].copy())
        residual = M @ (total - d.qacc)
        assert np.abs(residual).max() <= 1e-10 * (np.abs(M) @ np.abs(d.qacc)).max()
        passive = np.array(d.qfrc_passive)
        d.qacc[:] = a
        mujoco.mj_inverse(m, d)
        near(s.inverse(a), d.qfrc_inverse + passive, 1e-10, "inverse dynamics")


def test_jacobian(pair):
    import ctypes

    from tangere import lib
    s, m = pair
    d = mujoco.MjData(m)
    lib.tg_sim_jacobian.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    for rng, q, v, u in states(s, m, 3):
        d.qpos[:], s.qpos[:], s.qvel[:], s.ctrl[:] = q, q, v, u
        mujoco.mj_forward(m, d)
        for b in range(1, m.nbody):
            p, J, jp, jr = d.xpos[b] + rng.normal(size=3), np.zeros((6, m.nv)), np.zeros((3, m.nv)), np.zeros((3, m.nv))
            assert lib.tg_sim_jacobian(s.sim, b, p.ctypes.data, J.ctypes.data) == 0
            mujoco.mj_jac(m, d, jp, jr, p, b)
            near(J, np.vstack([jr, jp]), 1e-10, f"Jacobian of body {b}")
