#!/usr/bin/env python3
"""MuJoCo's force on a small sphere that is moved past a large one (reproduction SM-R2): writes models/two_spheres.npz.

usage: build/venv/bin/python tools/force_profile.py

At rest, on a line 11 cm beside the large sphere's centre, the radii being 10 and 3 cm. The jump of the second derivative is found as
repro/force_profile.c finds ours: where second differences left and right of a place differ most, as their step is halved.
"""
import pathlib

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BESIDE, FAR = 0.11, 0.2                 # the line x = BESIDE, |y| <= FAR [m]
POINTS, CELLS, HALVINGS = 401, 100, 6    # points of the profile; cells of the line, and how often what is looked at (a cell and half of its neighbours) is halved


def force(model, data, y):
    """(fx, fy) on the small sphere at rest [N]."""
    data.qpos[:] = BESIDE, y
    data.qvel[:] = 0
    mujoco.mj_forward(model, data)
    return data.qfrc_constraint[:2].copy()


def second(f, y, h):
    return (f(y - h) - 2 * f(y) + f(y + h)) / h**2


def across(f, y, h):
    """Second difference right of y less that left of it, odd in h."""
    return second(f, y + h, h) - second(f, y - h, h)


def jump(f):
    """Largest jump of the second derivative over the largest second difference at the cells' width, and where it is."""
    width = 2 * FAR / CELLS
    scale = max(np.linalg.norm(second(f, y, width)) for y in np.linspace(-FAR, FAR, CELLS + 1))
    worst, where = 0.0, 0.0
    for i in range(CELLS):
        y, h = -FAR + (i + 0.5) * width, width / 2
        for _ in range(HALVINGS):
            near = y + h * np.array([-1, -0.5, 0, 0.5, 1])
            h /= 2
            y = max(near, key=lambda x: np.linalg.norm(across(f, x, h)))
        for y in y + h * np.array([-1, -0.5, 0, 0.5, 1]):
            a, b, c = across(f, y, h), across(f, y, h / 2), across(f, y, h / 4)
            kink = np.linalg.norm(c) > np.linalg.norm(a)                            # grows as the step shrinks
            found = np.linalg.norm(c if kink else (8 * (2 * c - b) - (2 * b - a)) / 7) / scale   # leaves a jump, or the fifth power of h
            if found > worst:
                worst, where = found, y
    return worst, where


def main():
    model = mujoco.MjModel.from_xml_path(str(ROOT / "models/two_spheres.xml"))
    data = mujoco.MjData(model)
    y = np.linspace(-FAR, FAR, POINTS)
    profile = np.array([force(model, data, x) for x in y])
    size, where = jump(lambda x: force(model, data, x))
    print(f"mujoco {mujoco.__version__}: largest force {np.linalg.norm(profile, axis=1).max():.4g} N, jump {size:.4g} at y = {where:.6f} m; "
          f"contact begins at {np.sqrt(0.13**2 - BESIDE**2):.6f} m")
    np.savez(ROOT / "models/two_spheres.npz", y=y, force=profile, jump=np.float64(size), where=np.float64(where),
             versions=np.frombuffer(f"mujoco {mujoco.__version__}, numpy {np.__version__}".encode(), np.uint8))


if __name__ == "__main__":
    main()
