"""Forward with one contact model, gradient of another: rollouts, batches, what is refused."""
import numpy as np
import pytest

import tangere as tg

XML = """<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='2 2 1'/>
<body name='block' pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>
<body name='finger' pos='-.3 0 .1'><joint name='push' type='slide' axis='1 0 0'/><geom type='box' size='.04 .08 .05' mass='.5'/></body>
</worldbody><actuator><motor joint='push'/></actuator></mujoco>"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "table.xml"
    path.write_text(XML)
    return tg.load(str(path))


def seed(model):
    dq = np.zeros(model.nv)
    dq[0] = 1
    return dq


def test_a_finger_that_does_not_touch(model):
    sim = tg.Sim(model, contact="lcp")
    plain = sim.rollout(steps=20)
    by = sim.rollout(steps=20, gradient="barrier")
    assert np.array_equal(plain.q, by.q)
    assert not plain.backward(dq=seed(model)).u.any()
    g = by.backward(dq=seed(model))
    assert (g.u[:10] > 0).all() and g.label == "surrogate" and "'barrier'" in g.reason and "'lcp'" in g.reason
    heavier = sim.rollout(steps=20, gradient="barrier", gradient_options={"weight": 1e-5}).backward(dq=seed(model))
    assert (heavier.u[:10] > 2 * g.u[:10]).all()


def test_a_batch(model):
    batch = tg.Batch(model, contact="lcp", threads=1, gradient="barrier")
    sim = tg.Sim(model, contact="lcp")
    one = sim.rollout(steps=20, gradient="barrier").backward(dq=seed(model))
    many = batch.vjp(u=np.zeros((2, 20, 1)), dq=np.tile(seed(model), (2, 1)))
    assert np.array_equal(many.u[1], one.u) and many.label == ["surrogate"] * 2


def test_what_is_refused(model):
    sim = tg.Sim(model, contact="lcp")
    with pytest.raises(Exception, match="barier"):
        sim.rollout(steps=2, gradient="barier")
    with pytest.raises(ValueError, match="gradient_options"):
        sim.rollout(steps=2, gradient_options={"weight": 1})
