"""Models, simulations and tasks carried to other processes and copied: they go on with the same bits, or say why not."""
import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import tangere as tg


def carried(x):
    return pickle.loads(pickle.dumps(x))


def motion(sim, n):
    rows = []
    for _ in range(n):
        sim.step()
        rows.append(np.concatenate([sim.qpos, sim.qvel, sim.act]))
    return np.array(rows)


def test_model(models, tmp_path, monkeypatch):
    monkeypatch.chdir(models)
    model = tg.load("cubes.xml")
    monkeypatch.chdir(tmp_path)          # the path is carried whole
    again = carried(model)
    for name in model.fields():
        np.testing.assert_array_equal(again.field(name), model.field(name))
    assert copy.deepcopy(model).path == model.path and again.path == str(models / "cubes.xml")


def test_how_it_was_loaded(models):
    model = tg.load(models.parent / "samples/robot.urdf", ground="below", exclude_overlapping=True, fixed_base=True)
    again = carried(model)
    assert again.notes == model.notes and again.names("geom") == model.names("geom")
    text = tg.loads("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>", ground=-0.5)
    assert carried(text).field("geom_pos").tolist() == text.field("geom_pos").tolist()


def test_a_file_that_changed(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    raw = pickle.dumps(tg.load(path))
    pickle.loads(raw)
    path.write_text(path.read_text().replace(".1", ".2"))
    with pytest.raises(tg.Error, match="not what it was") as e:
        pickle.loads(raw)
    assert e.value.file == str(path) and carried(e.value).file == str(path)


@pytest.mark.parametrize("word", [*tg.contact_models(), None])
def test_sim_goes_on_with_the_same_bits(models, word):
    model = tg.load(models / "cubes.xml")
    options = {"slip_speed": 0.0123} if word in ("barrier", "damped", "softmin") else {}
    sim = tg.Sim(model, contact=word, dt=0.002, **options)
    sim.set_param("body_mass", 1.5 * sim.param("body_mass"))
    sim.qpos[[2, 9]] += 0.005, 0.01               # contact potentials begin apart
    sim.qvel[:] = 0.1 * np.random.default_rng(1).normal(size=model.nv)
    motion(sim, 60)
    sim.qfrc_applied[:] = 0.01
    raw = pickle.dumps(sim)
    copies = [pickle.loads(raw), copy.deepcopy(sim), copy.copy(sim)]
    want = motion(sim, 60)
    for other in copies:
        assert other.contact == sim.contact and other.dt == sim.dt
        np.testing.assert_array_equal(motion(other, 60), want)
        np.testing.assert_array_equal(other.param("body_mass"), sim.param("body_mass"))
    fresh = pickle.loads(raw)
    assert len(fresh.contacts()) == 0            # the last step is not carried
    if word is not None:
        with pytest.raises(tg.Error):
            fresh.jacobians()
    fresh.reset()
    np.testing.assert_array_equal(fresh.param("body_mass"), sim.param("body_mass"))


def test_task_and_its_sim(models):
    task = tg.Task(models / "two_balls.yaml", contact="softmin", slip_speed=0.02)
    again = carried(task)
    x = task.start(3)
    for a, b in zip(task.fun(x), again.fun(x)):
        np.testing.assert_array_equal(a, b)
    sim = task.sim(x)
    motion(sim, 5)
    both, other = carried((task, sim))
    assert sim.contact == "softmin" and both.cost(other, 5) == task.cost(sim, 5)     # one task still
    np.testing.assert_array_equal(motion(other, 20), motion(sim, 20))
    with pytest.raises(TypeError, match="pickle the Task"):
        pickle.dumps(sim.model)


def test_closed_and_foreign(cheetah):
    sim = tg.Sim(cheetah)
    state = sim.__getstate__()
    with pytest.raises(ValueError, match="not one of this model"):
        tg.Sim.__new__(tg.Sim).__setstate__(state[:9] + (b"12345678",) + state[10:])
    with pytest.raises(ValueError, match="damaged"):
        tg.Sim.__new__(tg.Sim).__setstate__(state[:7] + (state[7][:9],) + state[8:])
    sim.close()
    with pytest.raises(tg.Error, match="closed"):
        pickle.dumps(sim)


def work(sim):
    return motion(sim, 30)


def test_processes_by_spawn(cheetah):
    sims = []
    for i in range(2):
        sim = tg.Sim(cheetah, dt=0.01)
        sim.qvel[:] = 0.1 * (i + 1)
        sims.append(sim)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(work, sims)
    for sim, rows in zip(sims, found):
        np.testing.assert_array_equal(motion(sim, 30), rows)
