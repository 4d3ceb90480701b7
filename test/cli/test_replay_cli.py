"""tangere replay: pages of several runs, pictures and videos, and what is said when something for them is missing."""
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import time

import numpy as np
import pytest

from command_line import EXE, ROOT

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")


def run(*args, code=0, env=None, cwd=ROOT):
    done = subprocess.run([EXE, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300, env={**os.environ, **(env or {})})
    assert done.returncode == code, f"exit {done.returncode}, wanted {code}\n{done.stdout}\n{done.stderr}"
    return done.stderr


def head(page):
    return json.loads(page.read_text().split('id="tangere-replay">', 1)[1].split("</script>", 1)[0])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    run("simulate", "models/half_cheetah.xml", "--steps", 40, "--out", folder / "a")
    run("simulate", "models/cubes.xml", "--steps", 60, "--out", folder / "b")
    return folder


def test_several_runs_in_one_page(runs, tmp_path):
    assert "--out" in run("replay", runs / "a", runs / "b", code=1)
    run("replay", runs / "a", str(runs / "b") + "/", "--out", tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text()
    # two models, two runs named by their folders and contact models, two trajectories
    for text in '"label":"a (lcp)"', '"label":"b (lcp)"', '"name":"half_cheetah"', '"name":"cubes"', 'id="tangere-1-0"':
        assert text in page, text
    assert 'id="tangere-2-0"' not in page


def test_impacts_are_in_the_folder_and_on_the_page(tmp_path):
    """Of two cubes by the formula of sliding: half a metre less the gap at 2 m/s and friction of 1.44 m/s^2."""
    said = run("simulate", "models/cubes.xml", "--contact", "toi", "--key", "start", "--separate", "--steps", 30, "--dt", 0.02, "--out", tmp_path / "a")
    assert "1 impact, each at its own time" in said
    assert json.loads((tmp_path / "a/run.json").read_text())["impacts"] == 1
    kept = np.load(tmp_path / "a/trajectory.npz")
    step, = np.flatnonzero(np.diff(kept["impact_offset"]))
    met = (2 - np.sqrt(4 - 2 * 1.44 * (0.5 - 1e-6))) / 1.44
    np.testing.assert_allclose(0.02 * step + kept["impact_time"], met, atol=1e-9)
    # masses of 1 kg, no restitution: half of the speed goes over, along the normal
    np.testing.assert_allclose(kept["impact_impulse"].sum(axis=0), [(2 - 1.44 * met) / 2, 0, 0], atol=1e-6)
    assert (kept["impact_geom"] == [1, 2]).all() and step == 13
    # poses on the way there, the last one as they meet, on the parabola of sliding
    on_the_way = 0.02 * step + kept["between_time"]
    np.testing.assert_allclose(kept["between_qpos"][:, 0], 2 * on_the_way - 0.72 * on_the_way**2, atol=1e-9)
    np.testing.assert_allclose(kept["between_qpos"][:, 7], 0.7, atol=1e-9)
    assert abs(on_the_way[-1] - met) < 1e-9 and (np.diff(on_the_way) > 0).all()
    motion, = head(tmp_path / "a/replay.html")["trajectories"]
    assert motion["nimpact"] == len(kept["impact_time"]) and motion["nbetween"] == len(on_the_way)
    before = (tmp_path / "a/replay.html").read_bytes()
    run("replay", tmp_path / "a")
    assert (tmp_path / "a/replay.html").read_bytes() == before


def test_poses_and_shapes_are_of_the_parameters_found(tmp_path):
    # a pendulum whose link is too short for its tip to be where it was seen, with a ball whose size is found as well
    (tmp_path / "m.xml").write_text("""<mujoco><option gravity='0 0 0'/><worldbody><body name='arm'><joint name='pin' axis='0 1 0'/><geom size='.05'/>
        <body name='tip' pos='.5 0 0'><geom name='ball' size='.1'/></body></body></worldbody></mujoco>""")
    (tmp_path / "t.yaml").write_text("""model: m.xml
contact: lcp
horizon: {steps: 5, timestep: 0.01}
parameters: [{name: body_pos, of: tip, entry: 0, low: 0.1, high: 2}, {name: geom_size, of: ball, entry: 0, start: 0.25, low: 0.1, high: 1}]
losses: [{term: body_position, name: tip, target: [0.8, 0, 0], weight: 1}]
optimizer: {method: lbfgs, iterations: 20, tolerance: 1.0e-30}
success: {distance: 1.0e-6}
""")
    out = tmp_path / "out"
    run("optimize", tmp_path / "t.yaml", "--out", out)
    kept = json.loads((out / "run.json").read_text())["model_parameters"]
    assert [(e["array"], e["first"]) for e in kept] == [("body_pos", 0.5), ("geom_size", 0.25)] and abs(kept[0]["best"] - 0.8) < 1e-6

    for again in False, True:
        if again:
            (out / "replay.html").unlink()
            run("replay", out)
        first, *_, best = head(out / "replay.html")["trajectories"]
        assert abs(first["box"][3] - 0.5) < 1e-6 and abs(best["box"][3] - 0.8) < 1e-6, (first["box"], best["box"])
        assert head(out / "replay.html")["models"][0]["geoms"][1]["size"][0] == 0.25
    # a folder that says what the model has not
    told = json.loads((out / "run.json").read_text())
    told["model_parameters"][0]["entry"] = 600
    (out / "run.json").write_text(json.dumps(told))
    assert "entry 0 of model_parameters" in run("replay", out, code=2)


def test_replays_of_the_best_are_on_the_page(tmp_path):
    out = tmp_path / "out"
    run("optimize", "models/two_balls.yaml", "--out", out)
    rows = json.loads((out / "run.json").read_text())["verification"]
    assert [row["name"] for row in rows] == ["finer", "toi"]
    labels = [one["label"] for one in head(out / "replay.html")["trajectories"]]
    assert labels == ["first", "finer", "toi", "best"]   # the last is shown, the first its ghost
    # the same page again from what is kept
    run("replay", out, "--out", tmp_path / "again.html")
    assert [one["label"] for one in head(tmp_path / "again.html")["trajectories"]] == labels


@needs_chromium
def test_picture(runs, tmp_path):
    png = tmp_path / "x.png"
    before = set(glob.glob("/tmp/tangere-browser-*"))
    run("replay", runs / "a", "--png", png, "--frame", 40, "--size", "320x200")
    last = png.read_bytes()
    assert last[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", last[16:24]) == (320, 200)
    run("replay", runs / "a", "--png", png, "--frame", 0, "--size", "320x200")
    assert png.read_bytes() != last
    # the time of a link is as good as a frame; the folder's own page is not touched
    run("replay", runs / "a", "--png", png, "--size", "320x200", "--dark", "--view", "t=0.1&body=none")
    assert png.stat().st_size > 2000
    assert "the run has frames 0 to 40" in run("replay", runs / "a", "--png", png, "--frame", 41, code=2)
    assert set(glob.glob("/tmp/tangere-browser-*")) == before, "a browser's folder was left"


@needs_chromium
def test_video(runs, tmp_path):
    video = tmp_path / "x.webm"
    run("replay", runs / "a", "--video", video, "--size", "160x120", "--fps", 20)
    data = video.read_bytes()
    assert data[:4] == b"\x1aE\xdf\xa3" and b"V_VP" in data and len(data) > 1000


@needs_chromium
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed: apt-get install ffmpeg")
def test_video_as_mp4(runs, tmp_path):
    run("simulate", "models/half_cheetah.xml", "--steps", 400, "--out", tmp_path / "a")
    video, seen = tmp_path / "x.mp4", ["--size", "160x120", "--view", "body=none&cam=1,-3,1,1,0,0.4"]
    run("replay", tmp_path / "a", "--video", video, "--fps", 20, "--speed", 0.5, *seen)
    stream = subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-of", "json", video], capture_output=True, text=True, check=True).stdout
    (told,) = json.loads(stream)["streams"]
    assert (told["codec_name"], told["width"], told["height"], told["pix_fmt"], told["color_range"], told["avg_frame_rate"]) == ("h264", 160, 120, "yuv420p", "tv", "20/1")
    assert int(told["nb_frames"]) == 33  # 400 steps of 0.002 s, half as fast, 20 in a second, and the last

    def grey(*args):
        return subprocess.run(["ffmpeg", "-loglevel", "error", *args, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "gray", "-"], capture_output=True, check=True).stdout

    def off(a, b):
        assert len(a) == len(b) == 160 * 120
        return sum(abs(x - y) for x, y in zip(a, b)) / len(a)

    pictures = []
    for frame in 0, 400:
        run("replay", tmp_path / "a", "--png", tmp_path / "x.png", "--frame", frame, *seen)
        pictures.append(grey("-i", str(tmp_path / "x.png")))
    first, last = grey("-i", str(video)), grey("-ss", "1.6", "-i", str(video))
    # frames are the pictures of their times, but for what the codec loses
    far = off(*pictures)
    assert far > 5 and off(first, pictures[0]) < 0.4 * far and off(last, pictures[1]) < 0.4 * far, (far, off(first, pictures[0]), off(last, pictures[1]))


def test_a_running_optimisation_renews_its_folder(tmp_path):
    p = subprocess.Popen([EXE, "optimize", "models/half_cheetah_reach.yaml", "--iterations", "1000000", "--out", tmp_path / "o"], cwd=ROOT,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            if (tmp_path / "o/run.json").exists() or p.poll() is not None:
                break
            time.sleep(0.1)
        assert p.poll() is None, "the optimisation ended before it could be looked at"
        assert json.loads((tmp_path / "o/run.json").read_text())["status"] == "running"
        # whole files: a page of it can be made at any time
        run("replay", tmp_path / "o", "--out", tmp_path / "x.html")
        assert '"label":"best"' in (tmp_path / "x.html").read_text()
    finally:
        p.send_signal(signal.SIGINT)
        assert p.wait(timeout=120) == 130
    assert json.loads((tmp_path / "o/run.json").read_text())["status"] != "running"


def test_what_is_missing_is_named(runs, tmp_path):
    png = tmp_path / "x.png"
    said = run("replay", runs / "a", "--png", png, code=2, env={"PATH": "/nowhere", "CHROMIUM": ""})
    assert "Chromium" in said and "apt-get install chromium" in said and "CHROMIUM" in said
    assert "Chromium" in run("replay", runs / "a", "--png", png, code=2, env={"CHROMIUM": "/nowhere/chromium"})
    # a browser that is none
    assert "browser" in run("replay", runs / "a", "--png", png, code=4, env={"CHROMIUM": "/bin/false"})
    assert not png.exists()
    assert "ffmpeg" in run("replay", runs / "a", "--video", tmp_path / "x.mp4", code=1, env={"PATH": "/nowhere"})
    assert ".webm" in run("replay", runs / "a", "--video", tmp_path / "x.avi", code=1)
    assert ".png" in run("replay", runs / "a", "--png", tmp_path / "x.jpg", code=1)
    assert "WIDTHxHEIGHT" in run("replay", runs / "a", "--png", png, "--size", "big", code=1)


def test_a_page_from_another_folder_and_of_a_model_that_has_changed(tmp_path):
    """run.json names the model from the folder that the run was made in: it is found from anywhere, by its bytes."""
    work = tmp_path / "work"
    (work / "models").mkdir(parents=True)
    model = work / "models" / "ball.xml"
    model.write_bytes((ROOT / "samples" / "ball.xml").read_bytes())
    run("simulate", "models/ball.xml", "--steps", 3, "--out", "out/ball", cwd=work)
    page = (work / "out/ball/replay.html").read_bytes()
    other = tmp_path / "models"                                        # of that name, seen from another folder
    other.mkdir()
    (other / "ball.xml").write_bytes((ROOT / "models" / "half_cheetah.xml").read_bytes())
    for cwd, folder in (work, "out/ball"), (tmp_path, "work/out/ball"), (work / "out" / "ball", "."), ("/", work / "out" / "ball"):
        assert "changed" not in run("replay", folder, cwd=cwd) and (work / "out/ball/replay.html").read_bytes() == page
    shutil.copytree(work / "out/ball", tmp_path / "kept/far/ball")     # it no longer lies where it was made
    assert "names its files as seen from where the run was made" in run("replay", tmp_path / "kept/far/ball", cwd="/", code=2)
    run("replay", tmp_path / "kept/far/ball", cwd=work)
    model.write_text(model.read_text().replace("<mujoco", "<!-- later --><mujoco", 1))
    assert "models/ball.xml is not as it was in the run of out/ball" in run("replay", "out/ball", cwd=work)
    model.unlink()
    assert "models/ball.xml" in run("replay", "out/ball", cwd=work, code=2)


def test_a_page_again_has_the_ground_and_the_base_that_the_run_had(tmp_path):
    """What the command line, or a task, added to the model's file is in its page made again, which is the one that the run left."""
    (tmp_path / "robot.urdf").write_bytes((ROOT / "samples" / "robot.urdf").read_bytes())
    task = ("model: robot.urdf\nground: 0\ncontact: lcp\nhorizon: {steps: 20, timestep: 0.005}\n"
            "start: {joints: [{joint: root, position: [0, 0, 0.25, 1, 0, 0, 0]}]}\ncontrols: {every: 5}\n"
            "losses:\n  - {term: body_position, name: body, target: [0.2, 0, 0.25], axes: xz}\noptimizer: {method: adam, iterations: 1}\n")
    (tmp_path / "walk.yaml").write_text(task)
    run("simulate", "robot.urdf", "--ground=below", "--steps", 20, "--out", "free", cwd=tmp_path)
    run("simulate", "robot.urdf", "--ground=-0.5", "--fixed-base", "--steps", 20, "--out", "fixed", cwd=tmp_path)
    run("optimize", "walk.yaml", "--no-trust", "--out", "walk", cwd=tmp_path)
    for folder in "free", "fixed", "walk":
        page = tmp_path / folder / "replay.html"
        was = head(page)
        run("replay", tmp_path / folder, cwd="/")
        assert head(page) == was and "ground" in json.dumps(was)
    run("replay", "fixed", "--ground=-1", "--out", "page.html", cwd=tmp_path)   # the command line's own word goes first
    assert head(tmp_path / "page.html") != was
    told = run("replay", "walk", "--ground=-1", "--out", "page.html", cwd=tmp_path)   # and before the task's
    assert "warning" not in told and head(tmp_path / "page.html") != head(tmp_path / "walk" / "replay.html")
    with (tmp_path / "robot.urdf").open("a") as urdf:                  # of a task that is as it was
        urdf.write("<!-- later -->\n")
    assert "robot.urdf is not as it was in the run of walk" in run("replay", "walk", cwd=tmp_path)
    told = run("replay", "walk", "--fixed-base", cwd=tmp_path, code=2)
    assert "walk.yaml can no longer be loaded as in the run of walk" in told
    (tmp_path / "walk.yaml").write_text(task.replace("ground: 0", "ground: -1"))
    (tmp_path / "free" / "run.json").write_text((tmp_path / "free" / "run.json").read_text().replace('"ground"', '"out"'))
    assert "walk.yaml is not as it was in the run of walk" in run("replay", "walk", cwd=tmp_path)
    run("replay", "free", cwd=tmp_path, code=2)                        # an option of another kind is not taken from there
    assert not (tmp_path / "below").exists()


def test_a_folder_of_someone_else_opens_no_pipe_and_no_further_folders(tmp_path):
    """A run's folder may come from anyone: what its run.json names is read where it is a file, and below the folders that the command
    line of this program permits."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "cube.obj").write_text("".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1))
                                                  + "f 1 2 3\nf 6 7 8\n")
    model = '<mujoco><asset><mesh name="cube" file="%s"/></asset><worldbody><geom type="mesh" mesh="cube"/></worldbody></mujoco>'
    work = tmp_path / "work"
    work.mkdir()
    (work / "cube.xml").write_text(model % (tmp_path / "meshes" / "cube.obj"))
    roots = "--allow-absolute", "--asset-root", tmp_path / "meshes"
    run("simulate", "cube.xml", *roots, "--steps", 2, "--out", "cube", cwd=work)
    page = head(work / "cube" / "replay.html")
    told = run("replay", "cube", cwd=work, code=2)
    assert "the run was given --allow-absolute" in told and f"the run was given --asset-root {tmp_path / 'meshes'}" in told
    assert "the run was given" not in run("replay", "cube", *roots, cwd=work) and head(work / "cube" / "replay.html") == page
    os.mkfifo(work / "pipe")
    file = work / "cube" / "run.json"
    was = json.loads(file.read_text())
    for path in "pipe", "/dev/zero", ".":
        file.write_text(json.dumps(was | {"task": {"path": path, "fnv1a64": "0"}}))
        assert f"{path} is not as it was in the run of cube" in run("replay", "cube", *roots, cwd=work)
    for loading in 7, [["out", "x"]], [[3]], [["ground", "high"]], [["decompose-threshold"]]:
        file.write_text(json.dumps(was | {"loading": loading}))
        assert "'loading' has what no command line does" in run("replay", "cube", *roots, cwd=work, code=2)
