"""What MuJoCo is recorded to do in the reproductions SM-R2 and SM-R3 is what it does: models/push_t.npz and models/two_spheres.npz."""
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import force_profile  # noqa: E402
import push_t  # noqa: E402


def test_the_sequences_reach_their_goals_and_break_contact_twice():
    kept = np.load(push_t.FILE)
    final, contacts = push_t.replay(kept["u"])
    np.testing.assert_allclose(final, kept["final"], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(contacts, kept["contacts"])
    assert (contacts >= 2).all()
    miss = final[:, 0, 0] - push_t.goals()
    assert (np.linalg.norm(miss[:, :2], axis=1) <= push_t.NEAR).all() and (np.abs(push_t.turn(miss[:, 2])) <= push_t.TURN).all()
    np.testing.assert_allclose(push_t.curve() @ kept["via"], kept["u"], rtol=0, atol=1e-12)


def test_goals_are_apart_from_the_start_and_from_each_other():
    goal = push_t.goals()
    assert (np.hypot(goal[:, 0], goal[:, 1]) >= 0.05).all() and (np.abs(goal[:, 2]) >= np.pi / 6).all()
    apart = [(np.linalg.norm((a - b)[:2]) / push_t.NEAR, abs(a[2] - b[2]) / push_t.TURN) for i, a in enumerate(goal) for b in goal[:i]]
    assert min(max(pair) for pair in apart) > 2


def test_the_force_profile_is_mujocos_and_has_a_kink_where_contact_begins():
    kept = np.load(ROOT / "models/two_spheres.npz")
    model = force_profile.mujoco.MjModel.from_xml_path(str(ROOT / "models/two_spheres.xml"))
    data = force_profile.mujoco.MjData(model)
    force = np.array([force_profile.force(model, data, y) for y in kept["y"]])
    np.testing.assert_allclose(force, kept["force"], rtol=0, atol=1e-9)
    assert abs(abs(kept["where"]) - np.sqrt(0.13**2 - force_profile.BESIDE**2)) < 1e-4 and kept["jump"] > 1


def test_the_jump_of_functions_whose_derivatives_are_known():
    edge = 0.05

    def power(n):
        return lambda y: np.array([max(0.0, edge - y)**n, 0])
    assert force_profile.jump(power(1))[0] > 1
    size, where = force_profile.jump(power(2))
    assert abs(size - 1) < 0.1 and abs(where - edge) < 1e-3      # 2, over the second derivative 2
    assert force_profile.jump(power(4))[0] < 1e-4
    assert force_profile.jump(lambda y: np.array([np.exp(-(y / 0.02)**2), 0]))[0] < 1e-6
