"""URDF robots of example-robot-data, as copies without geometry: inertias and joints alone, so that no mesh reader takes part."""
import pathlib
import tempfile
import xml.etree.ElementTree as ET

import numpy as np

SHARE = next(p for p in (d / "cmeel.prefix/share/example-robot-data/robots" for d in pathlib.Path(np.__file__).parents) if p.is_dir())
ROBOTS = [
    "double_pendulum_description/urdf/double_pendulum.urdf", "panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf",
    "kinova_description/robots/kinova.urdf", "xarm_description/urdf/xarm7.urdf", "finger_edu_description/robots/finger_edu.urdf",
    "a1_description/urdf/a1.urdf", "go2_description/urdf/go2.urdf", "solo_description/robots/solo12.urdf",
    "laikago_description/urdf/laikago.urdf", "bolt_description/robots/bolt.urdf", "baxter_description/urdf/baxter.urdf",
    "talos_data/robots/talos_reduced.urdf", "talos_data/robots/talos_full_v2.urdf", "centauro_description/urdf/centauro.urdf",
    "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf", "alex_description/urdf/alex_nub_hands.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf", "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf", "anymal_b_simple_description/robots/anymal.urdf", "b1_description/urdf/b1-z1.urdf",
    "pr2_description/urdf/pr2.urdf",
]
# Refused, with the reason: a moving link without inertia (MuJoCo refuses it too), a negative principal moment.
REFUSED = {"human_description/robots/human.urdf": "no <inertial>", "tiago_description/robots/tiago.urdf": "inertia is not positive"}
# The root link is called world: that is the world, and no floating base is made for it.
ROOT_IS_WORLD = {"ur_description/urdf/ur5_robot.urdf", "xarm_description/urdf/xarm7.urdf"}
_folder = tempfile.TemporaryDirectory(prefix="tangere-robots-")


def stripped(name, mujoco=False):
    """Path of a copy of the robot without visual and collision geometry; mujoco: with the element that keeps MuJoCo from fusing links."""
    tree = ET.parse(SHARE / name)
    root = tree.getroot()
    for link in root.iter("link"):
        for kind in ("visual", "collision"):
            for element in link.findall(kind):
                link.remove(element)
    if mujoco:
        extra = ET.SubElement(root, "mujoco")
        ET.SubElement(extra, "compiler", {"fusestatic": "false", "balanceinertia": "false"})
    path = pathlib.Path(_folder.name) / (name.replace("/", "-") + (".mujoco.urdf" if mujoco else ""))
    tree.write(path)
    return path
