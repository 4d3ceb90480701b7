"""The command line as a user meets it: help, wrong use and wrong files, exit codes, results that cannot be written."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from command_line import ARM, EXE, MODEL, ROOT, TASK, run


def test_help_and_version():
    told = run("--help").stdout
    assert "optimize" in told and "4 fault" in told
    assert {"lcp", "toi", "barrier", "softmin", "damped"} <= set(re.search("Contact models: (.*)[.]\n", told)[1].split())
    assert run("--version").stdout.startswith("tangere ")
    for command in "simulate optimize gradcheck compare batch convert replay view reproduce bench".split():
        assert "usage: tangere " + command in run(command, "--help").stdout


@pytest.mark.parametrize("args", [[], ["fly"], ["simulate"], ["simulate", MODEL, "--stesp", "3"], ["simulate", MODEL, "--steps", "many"],
                                  ["simulate", MODEL, "--option", "weight"], ["simulate", MODEL, "--option", "viscosity=1"], ["simulate", MODEL, "--dt", "-1"], ["optimize", TASK, "--seed", "-1"], ["replay", "models", "--frame", "-1"], ["replay", "models", "--frame", "2.5"], ["optimize", TASK, "--resume"], ["reproduce", "nothing"], ["bench"]])
def test_usage_errors(args):
    done = run(*args, code=1)
    assert done.stdout == ""
    assert done.stderr != ""


def test_messages_say_what_to_do(tmp_path):
    assert "there is no command 'fly'" in run("fly", code=1).stderr
    assert "takes a task, a .yaml file" in run("optimize", MODEL, code=2).stderr
    assert "give the folder" in run("replay", tmp_path, code=2).stderr
    (tmp_path / "r.urdf").write_text(ARM.replace('<sphere radius="0.2"/>', '<mesh filename="package://hands/left.stl"/>', 1))
    assert "--package hands=DIR" in run("simulate", tmp_path / "r.urdf", code=2).stderr


def test_contact_options_by_name(tmp_path):
    rest = lambda *args: run("simulate", MODEL, "--steps", 20, "--json", *args).stdout
    assert json.loads(rest())["qpos"] == json.loads(rest("--option", "erp=0.2"))["qpos"]
    assert json.loads(rest())["qpos"] != json.loads(rest("--option", "symplectic=false"))["qpos"]
    assert "takes one of moment, paper, brute" in run("simulate", MODEL, "--option", "hierarchy=fine", code=1).stderr
    assert "give 0 to 1" in run("simulate", MODEL, "--option", "erp=7", code=2).stderr
    assert "'lcp' has erp, " in run("gradcheck", TASK, "--option", "age=7", code=2).stderr


@pytest.mark.parametrize("option, says", [("stiction_speed=1", "Contact option stiction_speed is now called slip_speed."), ("epr=0.1", "did you mean erp?"),
                                          ("softmin.form=fine", "takes one of consistent, paper"), ("rubber.erp=1", "no contact model is called 'rubber'")])
def test_wrong_contact_options(tmp_path, option, says):
    assert says in run("simulate", MODEL, "--option", option, code=1).stderr
    name, value = option.split("=")
    (tmp_path / "half_cheetah.xml").write_text((ROOT / MODEL).read_text())
    text = re.sub("options: .*", f"options:\n  symplectic: true\n  {name}: {value}", (ROOT / TASK).read_text())
    (tmp_path / "t.yaml").write_text(text)
    line = 1 + text.split(name)[0].count("\n")
    said = run("optimize", tmp_path / "t.yaml", code=2).stderr
    assert says in said and f"t.yaml:{line}:" in said, said


def test_options_of_one_contact_model():
    run("simulate", MODEL, "--steps", 2, "--option", "lcp.erp=0.1", "--option", "softmin.slip_speed=0.6")
    assert "option softmin.slip_speed does nothing under the contact model 'lcp'" in run("simulate", MODEL, "--steps", 2, "--option", "softmin.slip_speed=0.6").stderr


THROW = """model: ball.xml
contact: toi
options: {gap: 1.0e-5, bounce_gradient: true, softmin.eps2: 0.005}
horizon: {steps: 5, timestep: 0.01}
initial: [{joint: up, part: velocity, low: -2, high: 2}]
losses: [{term: body_com, name: ball, target: [0, 0, 0.2]}]
optimizer: {method: adam, iterations: 1}
"""


def test_options_of_a_task_that_do_nothing(tmp_path):
    """an option that neither the task's contact model nor that of gradients has is told, unless it is written for another one"""
    (tmp_path / "ball.xml").write_text("""<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="ball" pos="0 0 .3"><joint name="up" type="slide"/>
<geom size=".1" mass="1"/></body></worldbody></mujoco>""")
    (tmp_path / "t.yaml").write_text(THROW)
    found = "optimize", tmp_path / "t.yaml", "--no-replay", "--overwrite", "--out", tmp_path / "out"
    for more in (), ("--option", "gap=1e-6"):
        said = run(*found, *more).stderr
        assert said.count("does nothing") == 1 and "warning: option bounce_gradient of the task does nothing under the contact model 'toi'" in said, said
    (tmp_path / "t.yaml").write_text(THROW.replace("contact: toi", "contact: toi\ngradient: lcp"))
    assert "of the task does nothing" not in run(*found).stderr
    (tmp_path / "t.yaml").write_text(THROW.replace("contact: toi", "contact: lcp").replace("gap: 1.0e-5, ", ""))
    assert "of the task does nothing" not in run(*found).stderr


def test_help_lists_the_options_of_contact_models():
    said = run("simulate", "--help").stdout
    for part in ("options of the contact model 'barrier'", "weight (or mu)", "slip_speed", "moment, paper, brute", "options of the contact model 'softmin'", "limit_frequency"):
        assert part in said, part


# a light ball under one that is 1e12 times as heavy: in the 14th step it is deeper in the floor than the law can say
CRUSHED = """<mujoco><option timestep=".004"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<body name="light" pos="0 0 .101"><freejoint/><geom size=".1" mass="1e-6"/></body><body pos=".001 0 .302"><freejoint/><geom size=".1" mass="1e6"/></body></worldbody></mujoco>"""
OVERLAP = CRUSHED.replace("0 0 .101", "0 0 .05")
ENDS = [(0, "simulate", "samples/ball.xml", "--steps", 2), (1, "simulat"), (1, "simulate", "samples/ball.xml", "--stepz", 2), (1, "simulate", "samples/ball.xml", "--steps", "two"),
        (2, "simulate", "nowhere.xml"), (2, "simulate", "overlap.xml", "--contact", "damped", "--steps", 2), (2, "optimize", "crushed.xml"), (2, "simulate", "samples/ball.xml", "--contact", "lpc"),
        (3, "simulate", "crushed.xml", "--contact", "damped", "--steps", 20), (4, "simulate", "samples/ball.xml", "--steps", 2, "--no-replay", "--out", "blocked")]


def test_exit_codes_are_those_of_the_page(tmp_path):
    """The table of docs/conventions.md has the codes that --help has, and each of the programs' own is met."""
    rows = re.findall(r"^\| ([0-9, ]+) \|", (ROOT / "docs/conventions.md").read_text().split("## Exit codes")[1], re.M)
    page = [int(code) for row in rows for code in row.split(",")]
    assert page == [0, 1, 2, 3, 4, 129, 130, 143]
    told = re.search("Exit codes: (.*)", run("--help").stdout)[1]
    assert sorted(int(n) for n in re.findall(r"\d+", told)) == page
    files = {name: tmp_path / name for name in ("overlap.xml", "crushed.xml", "blocked")}
    (files["blocked"] / "run.json").mkdir(parents=True)
    files["overlap.xml"].write_text(OVERLAP)
    files["crushed.xml"].write_text(CRUSHED)
    for code, *args in ENDS:
        run(*(str(files.get(a, a)) for a in args), code=code)
    assert {end[0] for end in ENDS} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("command", ["simulate", "convert", "gradcheck", "optimize"])
@pytest.mark.parametrize("content", [b"", b"<mujoco>", b"\x00\xff\x00", b"<robot name='r'/>", b"model: ["])
def test_wrong_files_are_exit_2(tmp_path, command, content):
    path = tmp_path / ("bad.yaml" if command == "optimize" else "bad.xml")
    path.write_bytes(content)
    done = run(command, path, code=2)
    assert "bad." in done.stderr and done.stdout == ""


def test_missing_and_special_files(tmp_path):
    assert "nowhere.xml" in run("simulate", tmp_path / "nowhere.xml", code=2).stderr
    run("simulate", tmp_path, code=2)
    run("simulate", "/dev/zero", code=2)
    run("replay", tmp_path, code=2)


@pytest.mark.parametrize("args", [("simulate", MODEL, "--steps", 2), ("optimize", TASK), ("compare", TASK), ("batch", TASK, "--count", 1)])
def test_unwritable_folder(tmp_path, args):
    (tmp_path / "file").write_text("x")
    said = run(*args, "--out", tmp_path / "file" / "out", code=2).stderr
    assert "file cannot be made" in said and " in " not in said            # before anything is run: no time is told


@pytest.mark.parametrize("args,name", [(("batch", TASK, "--count", 1), "batch.json"), (("compare", TASK, "--iterations", 1), "compare.json"),
                                       (("simulate", MODEL, "--steps", 2, "--no-replay"), "trajectory.npz"),
                                       (("simulate", MODEL, "--steps", 2, "--no-replay"), "run.json"),
                                       (("optimize", TASK, "--iterations", 1, "--no-replay"), "loss.csv")])
def test_unwritable_result(tmp_path, args, name):
    (tmp_path / name).mkdir()
    assert name in run(*args, "--out", tmp_path, code=4).stderr


@pytest.mark.parametrize("args", [("--version",), ("--help",), ("simulate", "--help"), ("simulate", MODEL, "--steps", "2", "--json"),
                                  ("convert", MODEL, "--json"), ("gradcheck", MODEL, "--json"), ("batch", TASK, "--count", "1", "--json"),
                                  ("bench", "--list", "--json"), ("gradcheck", MODEL)])
def test_a_result_that_does_not_get_out_is_a_fault(args):
    with open("/dev/full", "w") as full:
        done = subprocess.run([EXE, *args], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 4 and "cannot be written" in done.stderr


def test_a_name_that_json_cannot_hold_is_a_fault(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.xml"
    with open(path, "wb") as f:
        f.write((ROOT / "samples" / "ball.xml").read_bytes())
    done = subprocess.run([EXE, b"simulate", path, b"--steps", b"2", b"--json"], capture_output=True, timeout=300)
    assert done.returncode == 4 and b"UTF-8" in done.stderr


CHEETAH_TASK = """model: half_cheetah.xml
contact: lcp
horizon: {steps: 400, timestep: 0.002}
controls: {every: 8}
losses:
  - {term: body_position, name: head, target: [0.5, 0, 1.0], axes: xz, weight: 1, at: end}
optimizer: {method: adam, iterations: 3}
"""


@pytest.mark.parametrize("right, wrong, said", [
    ("name: head", "nmae: head", "6:27: losses: there is no key 'nmae'; did you mean name?"),
    ("losses:", "loses:", "5:1: there is no key 'loses'; did you mean losses?"),
    ("controls:", "zzzzzzzzzzzz:", "4:1: there is no key 'zzzzzzzzzzzz'; there are model, ground,"),
    ("adam", "adm", "7:21: method: there is no 'adm'; did you mean adam?"),
    ("body_position", "body_positon", "6:12: term: there is no 'body_positon'; did you mean body_position?"),
    ("end}", "noon}", "at: there is no 'noon'; there are end, all, time, least"),
    ("iterations: 3", "iterations: x", "7:39: iterations: 'x' is no whole number"),
    ("iterations: 3", "iterations: 3e-2", "7:39: iterations: '3e-2' is no whole number"),
    ("iterations: 3", "iterations: 1e-400", "7:39: iterations: '1e-400' is no whole number"),
    ("iterations: 3", "iterations: 3e9", "7:39: iterations: '3e9' is no whole number"),
    ("iterations: 3", "iterations: 0x3", "7:39: iterations: '0x3' is no whole number"),
    ("iterations: 3", "iterations: 3x", "7:39: iterations: '3x' is no whole number"),
    ("iterations: 3", "iterations: 3.5", "7:39: iterations: '3.5' is no whole number"),
    ("iterations: 3", "iterations: 010", "7:39: iterations: '010' is no whole number"),
    ("iterations: 3", "iterations: 3, rate: 4x", "rate: '4x' is no number"),
    ("losses:", "refine: [{whole: ture}]\nlosses:", "5:18: whole: 'ture' is neither true nor false"),
    ("weight: 1", "weight: heavy", "6:80: weight: 'heavy' is no number"),
    ("weight: 1", "weight: [1]", "6:80: weight: a number is needed, not a list"),
    ("[0.5, 0, 1.0]", "3", "6:47: target: a list is needed, not a single value"),
    ("{method: adam, iterations: 3}", "[1]", "7:12: optimizer: keys with values is needed, not a list"),
    ("steps: 400, ", "", "horizon: the key 'steps' is missing"),
    (", iterations: 3", "", "optimizer: the key 'iterations' is missing"),
    ("model: half_cheetah.xml", "", "the key 'model' is missing"),
    ("model: half_cheetah.xml", "model:", "1:7: model: a value is missing"),
    ("contact: lcp", "contact: lcp\ncontact: toi", "the key 'contact' is there twice"),
    ("  - {term", "\t- {term", "6:1: a tab is in front of what the line says"),
    ("losses:", "start:\n  \tkeyframe: a\nlosses:", "6:3: a tab is in front of what the line says"),
    (CHEETAH_TASK, "", "the file is empty")])
def test_a_task_file_is_told_where_it_is_wrong(right, wrong, said, tmp_path):
    assert right in CHEETAH_TASK
    file = tmp_path / "task.yaml"
    file.write_text(CHEETAH_TASK.replace(right, wrong))
    told = run("optimize", file, code=2).stderr
    assert f"tangere optimize: {file}:" in told and said in told and told.count("task.yaml") == 1


@pytest.mark.parametrize("right, wrong, said", [
    ("name: head", "name: haed", "6:5: losses: the model has no body 'haed'; did you mean 'head'?"),
    ("name: head", "name: zzzzzzzzzzzz", "6:5: losses: the model has no body 'zzzzzzzzzzzz'; there are 'world', "),
    ("optimizer:", "  - {term: gap, geoms: [ground, haed], weight: 1}\noptimizer:", "7:5: losses: the model has no geom 'haed'; did you mean 'head'?"),
    ("axes: xz", "axes: up", "6:5: losses: axes 'up'"),
    ("steps: 400", "steps: -4", "3:10: horizon: steps is -4"),
    ("losses:", "start: {joints: [{joint: rootx, position: [1]}]}\nlosses:", "5:8: start: the model has no joint 'rootx'; did you mean")])
def test_what_the_model_has_not_is_told_with_its_place(right, wrong, said, tmp_path):
    assert right in CHEETAH_TASK
    file = tmp_path / "task.yaml"
    file.write_text(CHEETAH_TASK.replace(right, wrong))
    (tmp_path / "half_cheetah.xml").write_bytes((ROOT / "models" / "half_cheetah.xml").read_bytes())
    told = run("optimize", file, code=2).stderr
    assert f"tangere optimize: {file}:" in told and said in told


def test_whole_numbers_are_the_same_in_a_file_and_on_the_command_line(tmp_path):
    file = tmp_path / "task.yaml"
    (tmp_path / "half_cheetah.xml").write_bytes((ROOT / "models" / "half_cheetah.xml").read_bytes())
    more = "initial: [{joint: root_z, part: position, entries: [%s]}]\nparameters: [{name: body_mass, of: head, entry: %s}]\nlosses:"
    losses = []
    for steps, zero in ("40", "0"), ("4e1", "0e0"), ("40.0", "0.0"), ("400E-1", "0"):
        file.write_text(CHEETAH_TASK.replace("steps: 400", f"steps: {steps}").replace("losses:", more % (zero, zero)))
        losses.append(json.loads(run("batch", file, "--count", "1", "--json").stdout)["rows"][0]["loss"])
    assert losses[0] > 0 and len(set(losses)) == 1
    for taken in "4", "4e0", "4.0", "+4":
        assert json.loads(run("simulate", MODEL, "--steps", taken, "--json").stdout)["steps"] == 4
    for refused in "4.5", "4e-1", "1e-400", "04", "0x4", "4x", "-4", "nan", "":
        assert "wanted is a whole number above 0" in run("simulate", MODEL, "--steps", refused, code=1).stderr


def test_a_loss_without_a_weight_counts_once(tmp_path):
    file = tmp_path / "task.yaml"
    (tmp_path / "half_cheetah.xml").write_bytes((ROOT / "models" / "half_cheetah.xml").read_bytes())
    losses = []
    for weight in "weight: 1, ", "", "weight: 2, ":
        file.write_text(CHEETAH_TASK.replace("weight: 1, ", weight).replace("iterations: 3", "iterations: 1"))
        losses.append(json.loads(run("batch", file, "--count", 1, "--json").stdout)["rows"][0]["loss"])
    assert losses[0] == losses[1] > 0 and losses[2] > 1.9 * losses[0]


def test_names_that_no_geom_has(tmp_path):
    (tmp_path / "ball.xml").write_text('<mujoco><worldbody><body name="b"><joint name="z" type="slide"/><geom size=".1"/></body></worldbody></mujoco>')
    file = tmp_path / "task.yaml"
    file.write_text("model: ball.xml\ncontact: lcp\nhorizon: {steps: 4, timestep: 0.01}\n"
                    "initial: [{joint: z, part: velocity}]\nlosses:\n  - {term: gap, geoms: [a, b], weight: 1}\noptimizer: {method: adam, iterations: 3}\n")
    assert "6:5: losses: the model has no geom 'a'; none of its 1 has a name in the file" in run("optimize", file, code=2).stderr


@pytest.mark.parametrize("name, content, said", [
    ("a.xml", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "a pointer of Git LFS"),
    ("a.usda", b"#usda 1.0\n", "a USD file"), ("a.usdc", b"PXR-USDC\0\0", "a USD file"), ("a.mjb", b"\x31\xd4\0\0" + bytes(60), "mj_saveLastXML"),
    ("a.mjz", b"PK\3\4xxxx", "a zip archive"), ("a.xml.gz", b"\x1f\x8b\x08\0", "compressed"), ("a.urdf", b"<!DOCTYPE html>\n<html>", "a web page"),
    ("a.xml", b'<mujoco>\n<worldbody><body name="K\xf6rper"/></worldbody></mujoco>', "a.xml:2:25: not well-formed XML: not well-formed (invalid token) (a byte that is not UTF-8"),
    ("a.yaml", b"model: a.xml\n", "a task file is for tangere optimize and tangere.Task")])
def test_what_is_no_model_is_told_as_what_it_is(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert said in run("simulate", tmp_path / name, code=2).stderr


def test_a_mesh_that_is_a_pointer_or_no_number(tmp_path):
    scene = '<mujoco><asset><mesh name="m" file="%s"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
    (tmp_path / "m.stl").write_text("version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 nan\nv 0 1 0\nv 0 0 1\nf 1 3 2\n")
    for mesh, said in ("m.stl", "a pointer of Git LFS"), ("m.obj", "line 2: a coordinate is not finite"):
        (tmp_path / "a.xml").write_text(scene % mesh)
        assert said in run("simulate", tmp_path / "a.xml", code=2).stderr


@pytest.mark.parametrize("scale, told", [("1 1 1", True), ("0.001 0.001 0.001", False)])
def test_a_robot_whose_meshes_are_all_in_millimetres(tmp_path, scale, told):
    (tmp_path / "rod.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in ((0, 0, 0), (40, 0, 0), (0, 40, 0), (0, 0, 300)))
                                      + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    link = ('<link name="%s"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
            f'<collision><geometry><mesh filename="rod.obj" scale="{scale}"/></geometry></collision></link>')
    joint = ('<joint name="%s" type="revolute"><parent link="%s"/><child link="%s"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>'
             '<limit lower="-1" upper="1" effort="9" velocity="9"/></joint>')
    (tmp_path / "arm.urdf").write_text('<robot name="arm">' + link % "a" + link % "b" + link % "c" + joint % ("s", "a", "b") + joint % ("t", "b", "c") + "</robot>")
    said = run("convert", tmp_path / "arm.urdf").stderr
    assert ("is 305 m across" in said and "(0.3 m): it looks like millimetres" in said) == told and ("millimetres" in said) == told


def test_a_joint_that_nothing_drives(tmp_path):
    """Without an effort a drawer has a motor, which is told with what makes it none; so said, the motor's range is as good as nothing."""
    urdf = ('<robot name="desk"><link name="world"/><link name="drawer"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/>'
            '</inertial></link><joint name="rail" type="prismatic"><parent link="world"/><child link="drawer"/><limit lower="0" upper="1" effort="%s" velocity="1"/></joint></robot>')
    file, arrays = tmp_path / "desk.urdf", tmp_path / "desk.json"
    file.write_text(urdf % "0")
    assert "effort of joint 'rail' is 0 or missing: it has a motor all the same" in run("convert", file).stderr
    file.write_text(urdf % "1e-9")
    assert "warning" not in run("convert", file, "--out", arrays).stderr
    assert json.loads(arrays.read_text())["fields"]["act_ctrlrange"]["data"] in ([-1e-9, 1e-9], [[-1e-9, 1e-9]])


def test_an_interrupted_simulation_says_how_far_it_came():
    p = subprocess.Popen([EXE, "simulate", MODEL, "--steps", "5000000"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    caught = 0
    while not caught & 1 << signal.SIGINT - 1:
        assert p.poll() is None
        time.sleep(0.05)
        caught = int(re.search("SigCgt:\\s*([0-9a-f]+)", pathlib.Path(f"/proc/{p.pid}/status").read_text())[1], 16)
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    told = p.communicate(timeout=60)[1]
    assert p.returncode == 130 and re.search("interrupted: [0-9]+ of 5000000 steps were made", told)


def test_only_lcp_is_said_to_take_the_hull(tmp_path):
    """A mesh that is not convex: what is told holds whatever contact model the command is given."""
    ell = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    faces = [(i, (i + 1) % 6, 6 + (i + 1) % 6) for i in range(6)] + [(i, 6 + (i + 1) % 6, 6 + i) for i in range(6)]
    faces += [(0, i + 1, i) for i in range(1, 5)] + [(6, 6 + i, 7 + i) for i in range(1, 5)]
    (tmp_path / "ell.obj").write_text("".join(f"v {x} {y} {z}\n" for z in (0, 1) for x, y in ell)
                                      + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces))
    (tmp_path / "a.xml").write_text('<mujoco><asset><mesh name="m" file="ell.obj"/></asset><worldbody>'
                                    '<geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/><geom type="mesh" mesh="m" mass="1"/></body></worldbody></mujoco>')
    for contact in "lcp", "toi", "barrier":
        told = run("simulate", tmp_path / "a.xml", "--contact", contact, "--steps", 1).stderr
        assert "is not convex; under lcp its convex hull collides instead" in told


def test_replay_needs_a_whole_folder(tmp_path):
    run("simulate", MODEL, "--steps", 2, "--no-replay", "--out", tmp_path)
    npz = tmp_path / "trajectory.npz"
    whole = npz.read_bytes()
    npz.write_bytes(whole[:-30])
    assert "trajectory.npz" in run("replay", tmp_path, code=2).stderr
    npz.unlink()
    run("replay", tmp_path, code=2)
    (tmp_path / "run.json").write_text("{}")
    assert "names no model" in run("replay", tmp_path, code=2).stderr


def test_lists():
    assert [e["id"] for e in json.loads(run("bench", "--list", "--json").stdout)] == [l.split()[0] for l in run("bench", "--list").stdout.splitlines()]


def test_view_hands_all_that_was_asked_for_to_python(tmp_path):
    """A Python that says how it was called; test_view.py has the package read the same words."""
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    fake.chmod(0o755)
    given = ["view", "a b.xml", "--contact", "barrier", "--option", "weight=1e-6", "--dt", "0.01", "--key", "home", "--inside-limits", "--separate", "--port", "8800",
             "--lenient", "--drop", "hfield", "--repair", "--decompose", "--ground=-0.5", "--fixed-base", "--contact-triangles", "200", "--exclude-overlapping",
             "--asset-root", "/x", "--package", "p=/y", "--allow-absolute", "--decompose-thr", "0.1"]
    said = subprocess.run([EXE, *given], env=os.environ | {"TANGERE_PYTHON": str(fake)}, capture_output=True, text=True)
    assert said.returncode == 0 and said.stdout.splitlines() == [
        "-m", "tangere.view", "--contact=barrier", "--option=weight=1e-6", "--dt=0.01", "--key=home", "--inside-limits", "--separate", "--port=8800",
        "--lenient", "--drop=hfield", "--repair", "--decompose", "--ground=-0.5", "--fixed-base", "--contact-triangles=200", "--exclude-overlapping",
        "--asset-root=/x", "--package=p=/y", "--allow-absolute", "--decompose-threshold=0.1", "--", "a b.xml"]
    said = subprocess.run([EXE, "view", "b.xml", "--ground=below"], env=os.environ | {"TANGERE_PYTHON": str(fake)}, capture_output=True, text=True)
    assert said.stdout.splitlines() == ["-m", "tangere.view", "--ground=below", "--", "b.xml"]
    said = subprocess.run([EXE, "view", "b.xml", *["--repair"] * 129], env=os.environ | {"TANGERE_PYTHON": str(fake)}, capture_output=True, text=True)
    assert said.returncode == 1 and "more than 128 options" in said.stderr
    missing = subprocess.run([EXE, "view", MODEL], env=os.environ | {"TANGERE_PYTHON": str(tmp_path / "none")}, capture_output=True, text=True)
    assert missing.returncode == 4 and "Python package tangere" in missing.stderr
    for wrong in (["--port", "70000"], ["--decompose-threshold", "2"], ["--port", "0"], ["--steps", "3"]):
        assert run("view", MODEL, *wrong, code=1).stderr != ""
