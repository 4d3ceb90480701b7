"""`tangere gradcheck`: verdicts on files and motions."""
import json
import pathlib

import pytest

from command_line import MODEL, TASK, run


def test_gradcheck_passes_on_gymnasium():
    """Falling, landing and at rest; at rest and in free fall many limits and contacts are at a switch together."""
    gymnasium = pytest.importorskip("gymnasium")
    files = sorted((pathlib.Path(gymnasium.__file__).parent / "envs/mujoco/assets").glob("*.xml"))
    assert len(files) >= 10
    for file in files:
        # the humanoid that lies on its back comes to rest late, with feet that creep
        for steps in (20, 60, 150, 210, 287) if file.stem == "humanoidstandup" else (20, 60, 150):
            done = json.loads(run("gradcheck", file, "--steps", steps, "--json").stdout)
            assert done["pass"] and len(done["blocks"]) >= 5, f"{file.name} after {steps} steps"
            for block in done["blocks"]:
                assert block["spoiled"] == 0 or block["label"] == "one-sided", f"{file.name} {steps} {block}"


def test_gradcheck():
    result = json.loads(run("gradcheck", TASK, "--json").stdout)
    assert result["pass"] and {"dq'/dq", "dv'/du", "adjoint", "rollout slope"} <= {b["name"] for b in result["blocks"]}
    trust = result["trust"]
    assert trust["runs"] > 100 and 1e-6 < trust["range"] < 1e3 and trust["multiplied"] >= trust["growth"] > 0.5 and "on geom" in trust["by"]
    assert json.loads(run("gradcheck", MODEL, "--steps", 250, "--json").stdout)["pass"]


BALLS = """<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody>
<body><joint name='x1' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>
<body pos='.313 0 0'><joint name='x2' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body></worldbody>
<keyframe><key name='go' qpos='0 0' qvel='1 0'/></keyframe></mujoco>"""


def test_gradcheck_of_a_motion(tmp_path):
    (tmp_path / "balls.xml").write_text(BALLS)
    motion = "gradcheck", tmp_path / "balls.xml", "--key", "go", "--option", "contact_rule=touching", "--steps", 30
    converges = json.loads(run(*motion[:4], "--steps", 30, "--over-h", "--json").stdout)
    assert converges["pass"] and converges["gradient"] == converges["value"] == "converges"
    run(*motion[:-1], 1)                                                      # each step is right
    told = json.loads(run(*motion, "--over-h", "--widths", "--json", code=3).stdout)
    assert not told["pass"] and told["gradient"] == "grows" and told["reason"].startswith("the gradient grows as h^-1")
    assert [row["h"] for row in told["rows"]] == [0.01, 0.005, 0.0025, 0.00125]
    assert all(row["label"] == "exact" for row in told["rows"]) and told["widths"][0]["error"] < 1e-6
    table = run(*motion, "--over-h", code=3).stdout
    assert "gradient: grows (as h^-1" in table and "width" not in table
    lines = table.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("h [s] "))
    assert lines[first].split()[-1] == "label" and [line.split()[0] for line in lines[first + 1:first + 5]] == ["0.01", "0.005", "0.0025", "0.00125"]
    assert [line.split()[-1] for line in lines[first + 1:first + 5]] == ["exact"] * 4 and lines[first + 5].startswith("value: ")
    assert lines[first + 5].endswith("; the entry that changes most: " + told["entry"]) and told["entry"] != ""
    assert "order" not in run(*motion, "--widths").stdout                     # of one step size: the slope of what was run
    apart = run("gradcheck", tmp_path / "balls.xml", "--key", "go", "--steps", 5, "--over-h", "--widths").stdout   # nothing meets
    assert apart.endswith("ok\n") and "value: converges" in apart
    lines = apart.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("width "))
    assert [line.split()[0] for line in lines[first + 1:-2]] == [f"{row['width']:.0e}" for row in told["widths"]] + ["within"]


LANDING = """<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='5 5 .1' friction='.5'/>
<body pos='0 0 .35'><freejoint/><geom type='sphere' size='.1' mass='1'/></body>
<body pos='1 0 .4'><freejoint/><geom type='box' size='.1 .08 .06' mass='1'/></body></worldbody>
<keyframe><key name='thrown' qpos='0 0 .3501 1 0 0 0 1 0 .4 .9 .3 .2 .1' qvel='1 .3 -1 .5 2 1 .5 .2 -1 1 2 3'/></keyframe></mujoco>"""


def test_gradcheck_of_steps_with_impacts(tmp_path):
    (tmp_path / "landing.xml").write_text(LANDING)
    # the 18th step under toi has a contact that comes down at next to no speed: its differences leave 8e-7 open themselves
    for contact, counts in (("lcp", (14, 15, 17, 18)), ("toi", (14, 15, 16, 17, 19, 20))):
        for steps in counts:
            done = json.loads(run("gradcheck", tmp_path / "landing.xml", "--contact", contact, "--key", "thrown", "--steps", steps, "--json").stdout)
            assert done["pass"] and done["blocks"][-1]["name"] == "dL/dp", (contact, steps, done["blocks"])


def test_gradcheck_of_second_derivatives():
    done = run("gradcheck", "samples/ball.xml", "--contact", "softmin", "--second", "--json")
    blocks = {b["name"]: b for b in json.loads(done.stdout)["blocks"]}
    for name in ("second dq", "second dv", "second dp"):
        assert blocks[name]["pass"] and blocks[name]["error"] <= 1e-6 and blocks[name]["estimate"] <= 1e-6 and blocks[name]["column"]
    assert blocks["second symmetry"]["error"] <= 1e-12 and "worst: d2 /" in done.stderr
    assert "lcp" in run("gradcheck", "samples/ball.xml", "--second", code=2).stderr


def test_steps_too_long_for_explicit_forces_are_counted():
    args = ("simulate", "samples/ball.xml", "--contact", "softmin", "--steps", 20, "--no-replay", "--json")
    short, long = run(*args, "--dt", 0.0001), run(*args, "--dt", 0.1)
    assert json.loads(short.stdout)["unstable_steps"] == 0 and "warning" not in short.stderr
    result = json.loads(long.stdout)
    assert result["unstable_steps"] == 20 and 0 < result["stable_step"] < 0.1
    assert "20 of 20 steps of 0.1 s were longer than is stable" in long.stderr and "asks for steps" in long.stderr
    assert "stable_step" not in json.loads(run("simulate", "samples/ball.xml", "--steps", 2, "--no-replay", "--json").stdout)
    rows = json.loads(run("compare", "models/two_balls.yaml", "--contact", "softmin", "--iterations", 1, "--baselines", "--json", code=3).stdout)["rows"]
    assert rows[0]["unstable_steps"] == 0
    assert [r["first_loss"] for r in rows] == [rows[0]["first_loss"]] * 3   # the baselines' first motion is the first row's, by its contact model
