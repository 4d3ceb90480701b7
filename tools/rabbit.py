#!/usr/bin/env python3
"""Rabbits for the reproductions. A body, a head, two ears, a tail and four paws are ellipsoids; the surface is where a ray from the middle of the body leaves
the last of them. models/rabbit.obj (DA-R2) has the 642 directions of an icosahedron cut three times, models/rabbit_276.obj (BA-R7) 23 round each of six rings
about the axis from tail to nose, one through the ears and two through the paws, and both ends: 276 triangles. They are 0.2 m long."""
import itertools
import pathlib

import numpy as np

# centre, semi-axes, and by what the first axis is raised towards z [rad]
PARTS = [((0, 0, 0), (0.062, 0.05, 0.05), 0), ((0.062, 0, 0.042), (0.034, 0.028, 0.028), 0.3), ((0.05, 0.017, 0.09), (0.05, 0.012, 0.016), 1.35),
         ((0.05, -0.017, 0.09), (0.05, 0.012, 0.016), 1.35), ((-0.064, 0, 0.012), (0.018, 0.016, 0.016), 0), ((0.04, 0.026, -0.044), (0.022, 0.014, 0.012), 0),
         ((0.04, -0.026, -0.044), (0.022, 0.014, 0.012), 0), ((-0.03, 0.034, -0.042), (0.036, 0.016, 0.014), 0), ((-0.03, -0.034, -0.042), (0.036, 0.016, 0.014), 0)]


def sphere(cuts):
    g = (1 + 5 ** 0.5) / 2
    v = [np.roll((0, a, b * g), k) / np.hypot(1, g) for k in range(3) for a, b in itertools.product((-1, 1), repeat=2)]
    side = min(np.linalg.norm(v[0] - x) for x in v[1:])
    near = lambda i, j: np.linalg.norm(v[i] - v[j]) < 1.01 * side
    faces = [f for f in itertools.combinations(range(12), 3) if all(near(*e) for e in itertools.combinations(f, 2))]
    faces = [f if np.dot(np.cross(v[f[1]] - v[f[0]], v[f[2]] - v[f[0]]), v[f[0]]) > 0 else f[::-1] for f in faces]
    for _ in range(cuts):
        middle = {}

        def cut(i, j):
            key = min(i, j), max(i, j)
            if key not in middle:
                x = v[i] + v[j]
                v.append(x / np.linalg.norm(x))
                middle[key] = len(v) - 1
            return middle[key]
        faces = [f for a, b, c in faces for ab, bc, ca in [(cut(a, b), cut(b, c), cut(c, a))]
                 for f in [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]]
    return np.array(v), faces


def leaves(u):
    far = 0
    for centre, axes, raised in PARTS:
        c, s = np.cos(raised), np.sin(raised)
        R = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
        d, p = R.T @ u / axes, R.T @ -np.array(centre) / axes
        a, b, e = d @ d, d @ p, p @ p - 1
        if b * b >= a * e:
            far = max(far, (-b + np.sqrt(b * b - a * e)) / a)
    return far


def rings(polar, n):
    turn = 2 * np.pi * (np.arange(n) + 0.5) / n      # from z
    v = [(1, 0, 0)] + [(np.cos(p), np.sin(p) * np.sin(t), np.sin(p) * np.cos(t)) for p in np.radians(polar) for t in turn] + [(-1, 0, 0)]
    at = lambda ring, k: 1 + ring * n + k % n
    faces = [f for k in range(n) for f in [(0, at(0, k + 1), at(0, k)), (len(v) - 1, at(len(polar) - 1, k), at(len(polar) - 1, k + 1))]]
    faces += [f for r in range(len(polar) - 1) for k in range(n)
              for f in [(at(r, k), at(r, k + 1), at(r + 1, k + 1)), (at(r, k), at(r + 1, k + 1), at(r + 1, k))]]
    return np.array(v), faces


def write(name, v, faces):
    x = np.array([leaves(u) * u for u in v])
    x *= 0.2 / np.ptp(x[:, 0])
    with open(pathlib.Path(__file__).resolve().parent.parent / "models" / name, "w") as out:
        out.write("# A rabbit by tools/rabbit.py, of ellipsoids. Written for this project, Apache-2.0.\n")
        out.writelines("v %.5f %.5f %.5f\n" % tuple(p) for p in x)
        out.writelines("f %d %d %d\n" % tuple(i + 1 for i in f) for f in faces)


def main():
    write("rabbit.obj", *sphere(3))
    write("rabbit_276.obj", *rings([24, 54, 66, 90, 112, 148], 23))


if __name__ == "__main__":
    main()
