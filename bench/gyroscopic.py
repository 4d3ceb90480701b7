#!/usr/bin/env python3
"""Which rule for Coriolis and gyroscopic forces keeps fast chains from blowing up: random trees under random torques, without contact.

    gyroscopic.py [SCHEME ...] [--free] [--damping D] [--torque N m] [--h S] [--seeds N]

A prototype on MuJoCo's kinematics, of what docs/decisions/0031-gyroscopic-terms.md tells. Trees of 5 to 20 capsules (0.1 to 0.3 m) on hinges about
random axes, fixed to the world or on a free joint; a new normal torque on every hinge each 0.05 s; 5 s. Prints how many diverge (a speed that is not finite
or above 1e5), and which.
"""
import argparse

import mujoco
import numpy as np


def random_tree(seed, free, damping):
    """MJCF of a tree, and its number of links."""
    r = np.random.default_rng(seed)
    n = int(r.integers(5, 21))
    parent = [-1] + [int(r.integers(max(0, i - 3), i)) for i in range(1, n)]
    end = {}

    def body(i):
        axis, way = r.normal(size=3), r.normal(size=3)
        end[i] = way / np.linalg.norm(way) * r.uniform(0.1, 0.3)
        at = (0, 0, 2) if parent[i] < 0 else end[parent[i]]
        axis = axis / np.linalg.norm(axis)
        joint = "<freejoint/>" if free and parent[i] < 0 else f'<joint axis="{axis[0]} {axis[1]} {axis[2]}" damping="{damping}"/>'
        text = (f'<body pos="{at[0]} {at[1]} {at[2]}">{joint}<geom type="capsule" size="{r.uniform(0.02, 0.05)}" density="1000" contype="0" '
                f'conaffinity="0" fromto="0 0 0 {end[i][0]} {end[i][1]} {end[i][2]}"/>')
        return text + "".join(body(k) for k in range(n) if parent[k] == i) + "</body>"

    return f"<mujoco><worldbody>{body(0)}</worldbody></mujoco>", n


class Tree:
    """M, c, d c/dv and the bodies' Jacobians at any state."""

    def __init__(self, text):
        self.m = mujoco.MjModel.from_xml_string(text)
        self.d = mujoco.MjData(self.m)
        self.nv = self.m.nv
        self.D = np.diag(self.m.dof_damping)

    def put(self, q, v=None):
        self.d.qpos[:] = q
        self.d.qvel[:] = 0 if v is None else v
        mujoco.mj_fwdPosition(self.m, self.d)
        mujoco.mj_fwdVelocity(self.m, self.d)

    def mass(self, q):
        self.put(q)
        M = np.zeros((self.nv, self.nv))
        mujoco.mj_fullM(self.m, self.d, M)
        return M

    def bias(self, q, v):
        self.put(q, v)
        return self.d.qfrc_bias.copy()

    def bias_rate(self, q, v):
        """c is quadratic in v: central differences are exact but for rounding."""
        e = 1e-3 * max(1, np.abs(v).max())
        return np.array([(self.bias(q, v + e * i) - self.bias(q, v - e * i)) / (2 * e) for i in np.eye(self.nv)]).T

    def moved(self, q, w):
        out = q.copy()
        mujoco.mj_integratePos(self.m, out, w, 1.0)
        return out

    def jacobians(self, q):
        self.put(q)
        out = []
        for b in range(1, self.m.nbody):
            at, turn = np.zeros((3, self.nv)), np.zeros((3, self.nv))
            mujoco.mj_jacBodyCom(self.m, self.d, at, turn, b)
            out.append((at, turn, self.d.ximat[b].reshape(3, 3).copy()))
        return out


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def carried(tree, q, v, there, h):
    """Momenta of bodies that have flown freely for h, on the dofs at `there`: I (w' - w) = h [I w] (w' + w)/2 keeps each one's energy."""
    p = np.zeros(tree.nv)
    for b, ((at, turn, R), (at1, turn1, R1)) in enumerate(zip(tree.jacobians(q), tree.jacobians(there)), 1):
        I, w = np.diag(tree.m.body_inertia[b]), R.T @ (turn @ v)
        L = skew(I @ w)
        w1 = np.linalg.solve(I - h / 2 * L, (I + h / 2 * L) @ w)
        p += tree.m.body_mass[b] * at1.T @ (at @ v) + turn1.T @ (R1 @ (I @ w1))
    return p


def projected(tree, q, v, tau, h, by_old):
    """Bodies fly freely for h; their momenta are put on the joints at q (+) h v: a projection, which has no more energy."""
    there, weight = tree.moved(q, h * v), tree.bias(q, 0 * v)
    p = carried(tree, q, v, there, h)
    v1 = np.linalg.solve(tree.mass(there) + h * tree.D, p + h * (tau - weight))
    return tree.moved(q, h * (v if by_old else v1)), v1


def step(scheme, tree, q, v, tau, h):
    if scheme.startswith("projected"):
        return projected(tree, q, v, tau, h, scheme.endswith("_old"))
    M = tree.mass(q)
    left, right = M + h * tree.D, h * (tau - tree.bias(q, v) - tree.D @ v)
    if scheme == "implicit":      # MuJoCo's, unsymmetric
        left = left + h * tree.bias_rate(q, v)
    elif scheme == "midpoint":    # half of it
        left = left + h / 2 * tree.bias_rate(q, v)
    elif scheme == "symmetric":   # the symmetric part's positive eigenvalues
        C = tree.bias_rate(q, v)
        w, U = np.linalg.eigh(C + C.T)
        left = left + h / 2 * (U * np.maximum(w, 0)) @ U.T
    v1 = v + np.linalg.solve(left, right)
    if scheme == "scaled":        # to the energy that forces allow
        budget = max(0, v @ M @ v / 2 + h * (tau - tree.bias(q, 0 * v)) @ v1)
        energy = v1 @ tree.mass(tree.moved(q, h * v1)) @ v1 / 2
        v1 = v1 * np.sqrt(min(1, budget / energy)) if energy > 0 else v1
    return tree.moved(q, h * v1), v1


def survives(scheme, seed, options):
    text, n = random_tree(seed, options.free, options.damping)
    tree, r = Tree(text), np.random.default_rng(1000 + seed)
    q, v, tau, hold = tree.d.qpos.copy(), np.zeros(tree.nv), None, max(1, round(0.05 / options.h))
    for k in range(round(5 / options.h)):
        if k % hold == 0:
            tau = options.torque * r.normal(size=tree.nv)
            tau[: 6 if options.free else 0] = 0
        try:
            q, v = step(scheme, tree, q, v, tau, options.h)
        except np.linalg.LinAlgError:
            return False
        if not np.abs(v).max() < 1e5:
            return False
    return True


def main():
    schemes = ["explicit", "implicit", "midpoint", "symmetric", "scaled", "projected", "projected_old"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("schemes", nargs="*", help=", ".join(schemes))
    parser.add_argument("--free", action="store_true", help="on a free joint")
    parser.add_argument("--damping", type=float, default=0)
    parser.add_argument("--torque", type=float, default=1)
    parser.add_argument("--h", type=float, default=0.005)
    parser.add_argument("--seeds", type=int, default=30)
    options = parser.parse_args()
    np.seterr(all="ignore")
    for scheme in options.schemes or schemes:
        lost = [seed for seed in range(options.seeds) if not survives(scheme, seed, options)]
        print(f"{scheme}: {len(lost)} of {options.seeds} diverge {lost}", flush=True)


if __name__ == "__main__":
    main()
