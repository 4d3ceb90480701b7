"""What a robot's file needs beside itself: a ground under it, no contact between links that overlap by design."""
import pathlib
import pickle

import numpy as np
import pytest

import tangere as tg

SCENE = """<mujoco>{asset}<worldbody><body pos="0.3 -0.2 1" quat="0.7 -0.4 0.5 0.2"><freejoint/><geom {geom} pos="0.1 0.2 0.3" quat="0.3 0.8 -0.1 0.6"/></body>
<body pos="2 0 9"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
MESH = '<asset><mesh name="m" vertex="0 0 0  0.5 0 0  0 0.3 0  0 0 0.4  0.2 0.2 0.2" scale="1 2 -1"/></asset>'


def rotation(quat):
    w, x, y, z = np.asarray(quat) / np.linalg.norm(quat)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def directions(n):
    """Points of the unit sphere, close to each other."""
    i = np.arange(n) + 0.5
    height, turn = 1 - 2 * i / n, np.pi * (1 + 5 ** 0.5) * i
    ring = np.sqrt(1 - height * height)
    return np.column_stack([ring * np.cos(turn), ring * np.sin(turn), height])


def ring(radius, height, n=4000):
    t = np.linspace(0, 2 * np.pi, n)
    return np.column_stack([radius * np.cos(t), radius * np.sin(t), np.full(n, height)])


# points of each shape's surface, in its own frame
SURFACE = {
    'type="sphere" size="0.2"': 0.2 * directions(200000),
    'type="capsule" size="0.1 0.3"': np.vstack([0.1 * directions(200000) + [0, 0, z] for z in (0.3, -0.3)]),
    'type="cylinder" size="0.2 0.3"': np.vstack([ring(0.2, 0.3), ring(0.2, -0.3)]),
    'type="ellipsoid" size="0.1 0.2 0.4"': directions(200000) * [0.1, 0.2, 0.4],
    'type="box" size="0.1 0.2 0.4"': np.array([[a, b, c] for a in (0.1, -0.1) for b in (0.2, -0.2) for c in (0.4, -0.4)]),
}


@pytest.mark.parametrize("geom", SURFACE)
def test_ground_is_a_millimetre_below(geom):
    model = tg.loads(SCENE.format(asset="", geom=geom), ground="below")
    x = SURFACE[geom] @ rotation([0.3, 0.8, -0.1, 0.6]).T + [0.1, 0.2, 0.3]
    lowest = (x @ rotation([0.7, -0.4, 0.5, 0.2]).T + [0.3, -0.2, 1])[:, 2].min()
    ground = model.field("geom_pos")[model.find("geom", "ground")]
    assert ground[2] == pytest.approx(lowest - 1e-3, abs=1e-5) and not ground[:2].any()


def test_ground_below_a_mesh():
    model = tg.loads(SCENE.format(asset=MESH, geom='type="mesh" mesh="m"'), ground="below")
    sim = tg.Sim(model)
    info = sim.step()
    assert info.least_distance == pytest.approx(1e-3, abs=1e-5)


def test_ground_elsewhere():
    scene = SCENE.format(asset="", geom='size="0.1"')
    heights = [tg.loads(scene, ground=g) for g in (True, 0.25, np.float64(-1))]
    assert [float(m.field("geom_pos")[m.find("geom", "ground"), 2]) for m in heights] == [0, 0.25, -1]
    with pytest.raises(ValueError, match="ground: 'above'"):
        tg.loads(scene, ground="above")
    with pytest.raises(TypeError, match="ground"):
        tg.loads(scene, ground=[1])


def test_no_ground_where_nothing_may_touch_it():
    bare = SCENE.format(asset="", geom='size="0.1"').replace("<geom ", '<geom contype="0" conaffinity="0" mass="1" ')
    own = SCENE.format(asset="", geom='size="0.1"').replace("<worldbody>", '<worldbody><geom name="ground" type="plane" size="1 1 1" pos="0 0 -3"/>')
    for scene, why in (bare, "no geom that may touch"), (own, "a plane called ground"):
        model = tg.loads(scene, ground="below")
        assert sum("no ground is put below the model" in n and why in n for n in model.notes) == 1
        assert len(model.field("geom_pos")) == len(tg.loads(scene).field("geom_pos"))
    with pytest.raises(tg.Error, match="a geom of that name"):
        tg.loads(own.replace('type="plane" size="1 1 1"', 'size="0.1"'), ground="below")


CHAIN = """<robot name="chain"><link name="base"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link>{link1}{link2}</robot>"""
LINK = """<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial><collision><geometry><sphere radius="0.1"/></geometry>
</collision></link><joint name="{name}_joint" type="continuous"><parent link="{parent}"/><child link="{name}"/><origin xyz="{at} 0 0"/><axis xyz="0 0 1"/>
</joint>"""


def chain(second):
    return CHAIN.format(link1=LINK.format(name="one", parent="base", at=0.05), link2=LINK.format(name="two", parent="one", at=second))


def test_links_that_overlap_are_left_out():
    text = chain(0.05)   # base and two overlap, and are not parent and child
    apart = tg.loads(text, exclude_overlapping=True)
    notes = [n for n in apart.notes if "no contact between them" in n]
    assert len(notes) == 1 and "'base' and 'two' overlap by 0.1 m" in notes[0]
    assert tg.Sim(apart).step().ncontact == 0 and tg.Sim(tg.loads(text)).step().ncontact == 1
    assert not any("no contact between them" in n for n in tg.loads(chain(0.5), exclude_overlapping=True).notes)


def test_ground_goes_below_what_overlaps_too():
    model = tg.loads(chain(0.05), exclude_overlapping=True, ground="below")
    sim = tg.Sim(model, contact="barrier")
    least = [sim.step().least_distance for _ in range(40)]
    assert min(least) > 0 and abs(sim.qpos[2]) < 1e-3   # it stands on the ground, which pushes from afar


def ring_of_tubes(n=40, m=20):
    """Vertices and faces of a torus, as MJCF writes them."""
    vert = [((1 + 0.3 * np.cos(b)) * np.cos(a), (1 + 0.3 * np.cos(b)) * np.sin(a), 0.3 * np.sin(b))
            for a in 2 * np.pi * np.arange(n) / n for b in 2 * np.pi * np.arange(m) / m]
    face = []
    for i in range(n):
        for k in range(m):
            a, b, c, d = (x % n * m + y % m for x, y in ((i, k), (i + 1, k), (i + 1, k + 1), (i, k + 1)))
            face += [a, b, c, a, c, d]
    return " ".join(f"{x:.9g}" for v in vert for x in v), " ".join(map(str, face))


def test_meshes_collide_with_fewer_triangles():
    vert, face = ring_of_tubes()
    scene = SCENE.format(asset=f'<asset><mesh name="m" vertex="{vert}" face="{face}"/></asset>', geom='name="ring" type="mesh" mesh="m"')
    whole = tg.loads(scene)
    try:
        model = tg.loads(scene, contact_triangles=200)
    except tg.Error as error:
        assert "libmeshoptimizer" in str(error)
        pytest.skip("built without meshoptimizer")
    note, = [n for n in model.notes if "collides as" in n]
    assert "mesh m of 1600 triangles collides as 200" in note
    assert model.find("geom", "ring/reduced") == 1 and len(model.field("geom_pos")) == len(whole.field("geom_pos")) + 1   # after those of its body
    np.testing.assert_array_equal(model.field("body_mass"), whole.field("body_mass"))
    far = float(note.split("at most ")[1].split(" m off")[0])
    assert 0.001 < far < 0.1
    # it rests on a plane as the whole one does, to that distance
    for contact in ("lcp", "barrier"):
        low = [tg.Sim(tg.loads(scene, ground="below", contact_triangles=n), contact=contact).step().least_distance for n in (0, 200)]
        assert abs(low[1] - low[0]) < 1e-4
    with pytest.raises(tg.Error, match="contact triangles 3"):
        tg.loads(scene, contact_triangles=3)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.field("geom_pos"), model.field("geom_pos"))


def test_a_task_says_how_many(tmp_path):
    vert, face = ring_of_tubes()
    scene = SCENE.format(asset=f'<asset><mesh name="m" vertex="{vert}" face="{face}"/></asset>', geom='name="ring" type="mesh" mesh="m"')
    (tmp_path / "ring.xml").write_text(scene.replace("<body pos", '<body name="ring" pos', 1).replace("<freejoint/>", '<freejoint name="free"/>', 1))
    text = """model: ring.xml
ground: -2
contact_triangles: {n}
restitution: [{{geom: ring, value: 0.5}}]
contact: lcp
horizon: {{steps: 2, timestep: 0.002}}
initial: [{{joint: free, part: velocity, low: -1, high: 1}}]
losses: [{{term: body_position, name: ring, target: [0, 0, 1], weight: 1}}]
optimizer: {{method: adam, iterations: 1, rate: 0.1}}
"""
    (tmp_path / "ring.yaml").write_text(text.format(n=200))
    try:
        model = tg.Task(tmp_path / "ring.yaml").sim().model
    except tg.Error as error:
        assert "libmeshoptimizer" in str(error)
        pytest.skip("built without meshoptimizer")
    twin = model.find("geom", "ring/reduced")
    assert model.field("geom_restitution").ravel()[twin] == 0.5
    (tmp_path / "ring.yaml").write_text(text.format(n=-1))
    with pytest.raises(tg.Error, match="contact triangles -1"):
        tg.Task(tmp_path / "ring.yaml")


def test_joints_are_moved_inside_their_limits():
    model = tg.loads("""<mujoco><worldbody><body><freejoint/><geom size="0.1"/><body><joint name="a" range="20 90"/><joint name="b" type="slide" axis="0 1 0"
    range="-1 1" limited="true"/><joint name="c" axis="0 0 1"/><geom size="0.1"/></body></body></worldbody></mujoco>""")
    q = model.field("qpos0").copy()
    q[[0, 8, 9]] = 5, -0.95, 7
    low, high = np.deg2rad([20, 90])
    np.testing.assert_allclose(model.inside(q), np.concatenate([q[:7], [low + 0.05 * (high - low), -0.9, 7]]), rtol=1e-15)
    np.testing.assert_array_equal(model.inside(q, share=0)[8:], q[8:])
    with pytest.raises(ValueError, match="share"):
        model.inside(q, share=0.6)


def test_gradient_check_of_a_model_in_which_nothing_moves():
    still = tg.loads('<mujoco><worldbody><geom size="0.1"/></worldbody></mujoco>')
    assert tg.gradcheck(tg.Sim(still))


MUSCLE = """<mujoco><worldbody><body name="b"><joint name="j"/><geom size="1"/></body></worldbody>
<actuator><muscle joint="j"/><motor joint="j"/></actuator></mujoco>"""


def test_what_changes_motion_is_dropped_by_name(tmp_path):
    with pytest.raises(tg.Error, match="--drop=actuator"):
        tg.loads(MUSCLE, lenient=True)
    for drop in ("actuator", ["actuator"], ["mesh, actuator", "hfield"]):
        model = tg.loads(MUSCLE, drop=drop)
        assert model.nu == 1 and any("muscle" in note for note in model.notes)
    with pytest.raises(ValueError, match="did you mean actuator"):
        tg.loads(MUSCLE, drop="actuater")
    (tmp_path / "m.xml").write_text(MUSCLE)
    again = pickle.loads(pickle.dumps(tg.load(tmp_path / "m.xml", drop="actuator")))
    assert again.nu == 1


def test_task_drops(tmp_path):
    (tmp_path / "m.xml").write_text(MUSCLE)
    text = ("model: m.xml\n{drop}contact: lcp\nhorizon: {{steps: 2}}\ncontrols: {{}}\n"
            "losses: [{{term: body_position, name: b, target: [0, 0, 0], weight: 1}}]\noptimizer: {{method: adam, iterations: 1, rate: 1}}\n")
    for drop, error in (("", "--drop=actuator"), ("drop: [actuater]\n", "did you mean actuator"), ("drop: [hfield, actuator]\n", None)):
        (tmp_path / "t.yaml").write_text(text.format(drop=drop))
        if error is None:
            assert tg.Task(tmp_path / "t.yaml").sim().ctrl.shape == (1,)
        else:
            with pytest.raises(tg.Error, match=error):
                tg.Task(tmp_path / "t.yaml")


def test_page_lists_what_can_be_dropped():
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/mjcf.md").read_text()
    for word, text in tg.drop_words().items():
        assert f"| `{word}` | {text} |" in page


def test_a_task_file_is_told_where_it_is_wrong(tmp_path):
    """the command line's words (test/cli/test_cli.py), with the place apart"""
    from tangere import _program
    file = tmp_path / "task.yaml"
    file.write_text("model: a.xml\ncontact: lcp\nhorizon: {stesp: 4}\n")
    with pytest.raises(tg.Error) as wrong:
        tg.Task(file)
    assert (wrong.value.file, wrong.value.line) == (str(file), 3)
    assert str(wrong.value) == f"{file}:3: horizon: there is no key 'stesp'; did you mean steps?"
    with pytest.raises(tg.Error, match="3:11: horizon: there is no key 'stesp'; did you mean steps"):
        _program.call("optimize", file)
