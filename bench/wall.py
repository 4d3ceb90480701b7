#!/usr/bin/env python3
"""A ball, a box's edge and a rod at 100 m/s against a wall and a post of 1 mm, in steps of 10 ms: `toi` beside MuJoCo's speculative
contacts, in one run.

usage: build/venv/bin/python bench/wall.py [--json]

The scenes of TO-R4's rows `wall` (docs/reproductions.md), without restitution, which MJCF has none of, and under `toi` with one of 0.7 as
well. Of each: is it behind the wall after three steps; how deep it is in the wall at the end of a step, the most of a hundred, and at the
last; its speed after three steps over that before. MuJoCo by its default solver and its Euler integrator, with the flag and without.
"""
import json
import sys

import mujoco
import numpy as np

import tangere as tg

H, SHORT, LONG, BOUNCE = 0.01, 3, 100, 0.7
WALL = '<geom type="box" size=".0005 1 1"/>'
SCENES = {
    "ball": (WALL + '<body pos="-.7 0 0"><freejoint/><geom size=".05" mass="1"/></body>', 100),
    "edge": (WALL + '<body pos="-.7 0 0" euler="0 0 45"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>', 100),
    "rod": ('<geom type="box" size=".0005 .0005 .1" pos=".6 .6 0"/><body><joint axis="0 0 1"/>'
            '<geom type="capsule" size=".01" fromto=".05 0 0 1 0 0" mass="1"/></body>', 200)}


def depth(name, q):
    """into the wall [m], negative before it: of the rod along the circle on which it meets the post"""
    if name == "ball":
        return q[0] + 0.05 + 0.0005
    if name == "edge":
        return q[0] + 0.05 * 2 ** 0.5 + 0.0005
    corner = np.array([0.6005, 0.5995])   # of the post, which it meets first
    return 0.01 - np.sin(np.arctan2(corner[1], corner[0]) - q[0]) * np.hypot(*corner)


def judged(name, q, v, speed):
    depths = [depth(name, x) for x in q]
    far = 0.7854 if name == "rod" else 0
    return {"passed": bool(max(x[0] for x in q[:SHORT + 1]) > far), "deepest_m": float(max(depths)), "last_m": float(depths[-1]),
            "speed": float(v[SHORT][0] / speed)}


def text(body, speculative):
    flag = f'<flag speculative="{"enable" if speculative else "disable"}"/>'
    return f'<mujoco><option gravity="0 0 0" timestep="{H}" integrator="Euler">{flag}</option><worldbody>{body}</worldbody></mujoco>'


def theirs(name, speculative):
    body, speed = SCENES[name]
    model = mujoco.MjModel.from_xml_string(text(body, speculative))
    data = mujoco.MjData(model)
    data.qvel[0] = speed
    q, v = [data.qpos.copy()], [data.qvel.copy()]
    for _ in range(LONG):
        mujoco.mj_step(model, data)
        q.append(data.qpos.copy())
        v.append(data.qvel.copy())
    return judged(name, q, v, speed)


def ours(name, restitution):
    body, speed = SCENES[name]
    sim = tg.Sim(tg.loads(text(body, False)), contact="toi", dt=H)
    sim.set_param("geom_restitution", np.full_like(sim.param("geom_restitution"), restitution))
    sim.qvel[0] = speed
    q, v = [sim.qpos.copy()], [sim.qvel.copy()]
    for _ in range(LONG):
        sim.step()
        q.append(sim.qpos.copy())
        v.append(sim.qvel.copy())
    return judged(name, q, v, speed)


def main():
    rows = {}
    for name in SCENES:
        rows[f"{name}, toi"] = ours(name, 0)
        rows[f"{name}, toi, restitution {BOUNCE}"] = ours(name, BOUNCE)
        rows[f"{name}, MuJoCo, speculative"] = theirs(name, True)
        rows[f"{name}, MuJoCo"] = theirs(name, False)
    if "--json" in sys.argv[1:]:
        print(json.dumps({"mujoco": mujoco.__version__, "rows": rows}))
        return
    print(f"MuJoCo {mujoco.__version__}; steps of {H} s")
    for name, r in rows.items():
        where = "" if r["passed"] or "restitution" in name else f"  deepest {r['deepest_m']:10.3g} m, last {r['last_m']:10.3g} m"
        print(f"{name:30} {'passes' if r['passed'] else 'stays '}  speed after over before {r['speed']:.15g}{where}")


if __name__ == "__main__":
    main()
