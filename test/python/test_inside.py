"""What happens inside of a step, from Python: impacts with times and impulses, and poses between states."""
import numpy as np
import pytest

import tangere as tg

BALLS = """<mujoco><option gravity="0 0 0"/><default><geom type="sphere" size="0.1" mass="1" friction="0"/></default><worldbody>
  <body name="one"><joint type="slide" axis="1 0 0"/><geom/></body><body name="two" pos="0.5 0 0"><joint type="slide" axis="1 0 0"/><geom/></body>
</worldbody></mujoco>"""
MET = (0.3 - 1e-6) / 2   # of two balls 0.3 m apart at 2 m/s, at contact.gap


def test_step():
    sim = tg.Sim(tg.loads(BALLS), contact="toi", dt=0.04)
    sim.qvel[:] = [2, 0]
    for k in range(5):
        sim.step()
        hits = sim.impacts()
        time, q = sim.poses_within()
        assert len(hits) == len(time) == (k == 3)
    sim = tg.Sim(tg.loads(BALLS), contact="toi", dt=1.0)
    sim.qvel[:] = [2, 0]
    sim.step()
    hit, (time, q) = sim.impacts()[0], sim.poses_within()
    assert hit["time"] == pytest.approx(MET, abs=1e-13) and time[0] == hit["time"]
    assert (hit["geom1"], hit["geom2"], hit["body1"], hit["body2"]) == (0, 1, 1, 2)
    np.testing.assert_allclose(hit["impulse"], [1, 0, 0], atol=1e-12)   # m v (1 + e)/2 without restitution
    np.testing.assert_allclose(hit["world"], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(q, [[2 * MET, 0]], atol=1e-13)
    assert "force" not in hit.dtype.names


def test_no_step():
    sim = tg.Sim(tg.loads(BALLS), contact="toi")
    for ask in (sim.impacts, sim.poses_within):
        with pytest.raises(tg.Error, match="step first"):
            ask()
    soft = tg.Sim(tg.loads(BALLS), contact="softmin")
    soft.step()
    assert len(soft.impacts()) == 0 and soft.poses_within()[1].shape == (0, 2)


def test_rollout_and_batch():
    sim = tg.Sim(tg.loads(BALLS), contact="toi", dt=0.04)
    plain, told = (sim.rollout(v0=[2, 0], steps=6, contacts=c) for c in (False, True))
    np.testing.assert_array_equal(plain.q, told.q)
    assert plain.impacts is None
    hit, = told.impacts
    assert hit["step"] == 3 and hit["step"] * told.dt + hit["time"] == pytest.approx(MET, abs=1e-13)
    t = np.linspace(0, 0.24, 49)
    met = np.minimum(t, MET)
    exact = np.stack([2 * met + (t - met), t - met], axis=1)
    np.testing.assert_allclose(told.interpolate(t), exact, atol=1e-12)
    np.testing.assert_allclose(told.interpolate(0.15), exact[30], atol=1e-12)
    assert np.abs(plain.interpolate(t) - exact).max() > 1e-3   # straight from state to state
    for wrong in (-0.01, 0.25, [0.1, np.nan]):
        with pytest.raises(ValueError, match="not within the rollout's"):
            told.interpolate(wrong)
    batch = tg.Batch(sim.model, contact="toi", dt=0.04)
    hits = batch.rollout(v0=[[2, 0], [0, 0], [4, 0]], steps=6, contacts=True).impacts
    np.testing.assert_array_equal(hits["run"], [0, 2])
    np.testing.assert_allclose(hits["step"] * 0.04 + hits["time"], [MET, MET / 2], atol=1e-13)


def shaken():
    walls = "".join(f'<geom type="box" size="{.02 if a == 0 else .2} {.02 if a == 1 else .2} {.02 if a == 2 else .2}" '
                    f'pos="{s * .22 * (a == 0)} {s * .22 * (a == 1)} {.2 + s * .22 * (a == 2)}" mass="3"/>' for a in range(3) for s in (-1, 1))
    cubes = "".join(f'<body pos="{(i & 1) * .16 - .08} {(i >> 1 & 1) * .16 - .08} {(i >> 2) * .16 + .1}" euler="{20 * i} {30 * i} 5"><freejoint/>'
                    '<geom type="box" size=".04 .05 .03" mass=".2"/></body>' for i in range(8))
    return tg.loads(f"""<mujoco><worldbody><body><joint type="slide" axis="1 0 0" stiffness="400"/><joint type="slide" axis="0 0 1" stiffness="700"/>
      {walls}</body>{cubes}</worldbody></mujoco>""")


def overlaps(model, poses):
    """How many of the poses `toi` refuses to start from, which looks with code of its own."""
    judge, n = tg.Sim(model, contact="toi", dt=1e-6), 0
    for q in poses:
        judge.qpos[:], judge.qvel[:] = q, 0
        try:
            judge.step()
        except tg.Error as error:
            assert "overlap" in str(error) or "nearer than bodies come" in str(error)
            n += 1
    return n


def test_shaken_box_does_not_cross():
    """Along the way that a rollout keeps; straight from state to state it does."""
    model = shaken()
    sim = tg.Sim(model, contact="barrier", dt=0.04)
    roll = sim.rollout(v0=np.r_[3, 2, np.zeros(model.nv - 2)], steps=10, contacts=True)
    straight = sim.rollout(v0=np.r_[3, 2, np.zeros(model.nv - 2)], steps=10)
    np.testing.assert_array_equal(roll.q, straight.q)
    t = np.linspace(0, 0.4, 201)
    crossing = [overlaps(model, r.interpolate(t)) for r in (straight, roll)]
    assert crossing[0] >= 8 and crossing[1] == 0, crossing
