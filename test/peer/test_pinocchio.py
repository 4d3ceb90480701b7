"""Inertias, inverse and forward dynamics and their derivatives against Pinocchio on URDF robots, fixed and floating.

Pinocchio's floating root is built as a translation followed by a spherical joint, so that tangents agree: world linear
velocity, body angular velocity. Joints are matched by name. Inertias of links that move together are summed on both sides, since Pinocchio
merges fixed joints.
"""
import pathlib

import numpy as np
import pinocchio as pin
import pytest

from robots import REFUSED, ROBOTS, ROOT_IS_WORLD, stripped
from tangere import Sim


def near(ours, theirs, tolerance, what):
    scale = max(1.0, np.abs(theirs).max(initial=0))
    worst = np.abs(np.asarray(ours) - np.asarray(theirs)).max(initial=0) / scale
    assert worst <= tolerance, f"{what}: {worst:.3g} > {tolerance:g}"


def pin_model(path, floating):
    """The robot with a root of two joints: translation, then spherical, when floating."""
    if not floating:
        return pin.buildModelFromUrdf(str(path))
    theirs, model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()), pin.Model()
    here = {0: 0}
    t = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "root translation")
    here[1] = model.addJoint(t, pin.JointModelSpherical(), pin.SE3.Identity(), "root rotation")
    model.appendBodyToJoint(here[1], theirs.inertias[1], pin.SE3.Identity())
    for i in range(2, theirs.njoints):
        here[i] = model.addJoint(here[theirs.parents[i]], theirs.joints[i], theirs.jointPlacements[i], theirs.names[i])
        model.appendBodyToJoint(here[i], theirs.inertias[i], pin.SE3.Identity())
    return model


class Pair:
    """One robot in both engines, with the maps between their coordinates."""

    def __init__(self, name, floating):
        path = stripped(name)
        self.m = pin_model(path, floating)
        self.d = self.m.createData()
        self.s = Sim(path, fixed_base=not floating)
        s, m = self.s, self.m
        assert (s.nv, s.nbody > 0) == (m.nv, True), f"{name}: nv {s.nv} and {m.nv}"
        s.param("opt_gravity")[0] = m.gravity.linear
        self.joint = {n: i for i, n in enumerate(s.names("joint"))}
        vadr, qadr = s.field("jnt_vadr")[:, 0], s.field("jnt_qadr")[:, 0]
        self.vmap, self.joints = np.full(m.nv, -1), []  # vmap[their dof] = our dof
        for i in range(1, m.njoints):
            j = 0 if m.names[i].startswith("root ") else self.joint[m.names[i]]
            offset = 3 if m.names[i] == "root rotation" else 0
            for k in range(m.nvs[i]):
                self.vmap[m.idx_vs[i] + k] = vadr[j] + offset + k
            self.joints.append((i, j, int(qadr[j])))
        assert sorted(self.vmap) == list(range(m.nv))

    def inertias(self):
        """Their joint, its name, and the inertia of all our links that move with it, in the axes of the joint's link."""
        s, m = self.s, self.m
        weld, body = s.field("body_weld")[:, 0], s.field("jnt_body")[:, 0]
        s.qpos[:], s.qvel[:] = s.field("qpos0")[:, 0], 0
        s.forward()
        x, R = s.field("xpos"), s.field("xmat").reshape(-1, 3, 3)
        for i, j, _ in self.joints:
            if m.names[i] == "root translation":
                continue
            b, total = body[j], pin.Inertia.Zero()
            for k in np.flatnonzero(weld == b):
                J, mass = s.param("body_inertia")[k], s.param("body_mass")[k, 0]
                if mass == 0 and not J.any():
                    continue
                J = np.array([[J[0], J[3], J[4]], [J[3], J[1], J[5]], [J[4], J[5], J[2]]])
                total += pin.SE3(R[b].T @ R[k], R[b].T @ (x[k] - x[b])).act(pin.Inertia(mass, s.param("body_com")[k], J))
            yield i, m.names[i], total

    def set(self, rng):
        """A random state in both; returns (q, v) in theirs."""
        s, m = self.s, self.m
        dq = rng.normal(size=s.nv)
        s.qpos[:] = s.integrate(s.field("qpos0")[:, 0], dq)
        s.qvel[:] = rng.normal(size=s.nv)
        q = pin.neutral(m)
        for i, j, a in self.joints:
            at, n = m.idx_qs[i], m.nqs[i]
            if m.names[i] == "root translation":
                q[at:at + 3] = s.qpos[0:3]
            elif m.names[i] == "root rotation":
                q[at:at + 4] = [s.qpos[4], s.qpos[5], s.qpos[6], s.qpos[3]]
            elif n == 2:
                q[at:at + 2] = np.cos(s.qpos[a]), np.sin(s.qpos[a])
            else:
                q[at] = s.qpos[a]
        return q, s.qvel[self.vmap].copy()

    def theirs(self, x):
        """Our vector or matrix in their order of dofs."""
        return x[self.vmap] if x.ndim == 1 else x[np.ix_(self.vmap, self.vmap)]

    def ours(self, x):
        r = np.zeros_like(x)
        r[self.vmap] = x
        return r


def cases():
    for name in ROBOTS:
        for floating in (False, True):
            if not (floating and name in ROOT_IS_WORLD):
                yield name, floating


@pytest.fixture(scope="module", params=list(cases()), ids=lambda c: pathlib.Path(c[0]).stem + (" floating" if c[1] else " fixed"))
def pair(request):
    return Pair(*request.param)


def test_enough_robots():
    assert len(ROBOTS) >= 10
    assert max(pin.buildModelFromUrdf(str(stripped(n))).nv for n in ROBOTS) >= 30


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_its_reason(name):
    with pytest.raises(RuntimeError, match=REFUSED[name]):
        Sim(stripped(name))


def test_inertias(pair):
    for i, name, ours in pair.inertias():
        stated = pair.m.inertias[i].matrix()
        scale = np.abs(stated).max()
        near(ours.matrix() / scale, stated / scale, 1e-12, f"inertia moved by {name}")


def test_dynamics_and_derivatives(pair):
    s, m, d = pair.s, pair.m, pair.d
    rng = np.random.default_rng(3)
    for _ in range(4):
        q, v = pair.set(rng)
        a, tau = rng.normal(size=m.nv), rng.normal(size=m.nv)
        # frames of the links that joints move
        pin.forwardKinematics(m, d, q, v, a)
        s.forward()
        body = s.field("jnt_body")[:, 0]
        for i, j, _ in pair.joints:
            if m.names[i] == "root translation":
                continue
            near(s.field("xpos")[body[j]], d.oMi[i].translation, 1e-12, f"position of {m.names[i]}")
            near(s.field("xmat")[body[j]].reshape(3, 3), d.oMi[i].rotation, 1e-12, f"rotation of {m.names[i]}")
        M = pin.crba(m, d, q)
        M = np.triu(M) + np.triu(M, 1).T
        near(pair.theirs(s.field("M")), M, 1e-12, "mass matrix")
        near(pair.theirs(s.inverse(pair.ours(a))), pin.rnea(m, d, q, v, a), 1e-12, "inverse dynamics")
        pin.computeRNEADerivatives(m, d, q, v, a)
        Dq, Dv = s.inverse_d(pair.ours(a))
        near(pair.theirs(Dq), d.dtau_dq, 1e-9, "d inverse/dq")
        near(pair.theirs(Dv), d.dtau_dv, 1e-9, "d inverse/dv")
        pin.computeABADerivatives(m, d, q, v, tau)
        Aq, Av, At = s.acceleration_d(pair.ours(tau))
        near(pair.theirs(Aq), d.ddq_dq, 1e-9, "d forward/dq")
        near(pair.theirs(Av), d.ddq_dv, 1e-9, "d forward/dv")
        Minv = np.triu(d.Minv) + np.triu(d.Minv, 1).T
        near(pair.theirs(At), Minv, 1e-9, "d forward/dtau")
        # the residual of forward dynamics in their equation of motion
        ours = pair.theirs(s.acceleration(pair.ours(tau)))
        bias = pin.nonLinearEffects(m, d, q, v)
        residual = M @ ours + bias - tau
        assert np.abs(residual).max() <= 1e-12 * (np.abs(M) @ np.abs(ours) + np.abs(bias) + np.abs(tau)).max()
