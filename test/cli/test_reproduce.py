"""tangere reproduce: what it lists, the rows it prints, and the experiments that are quick enough for every run of the tests; with
TANGERE_LONG=1, which make test-long sets, the others too."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from command_line import EXE, ROOT, run

# rows that comparisons from outside rely on
ROWS = {
    "LC-R1": "atlas.jacobians_us atlas.step_us atlas.jacobians_per_step atlas.central_ratio atlas.ridders_ratio atlas.max_rel_error "
             "cheetah.jacobians_us cheetah.step_us cheetah.jacobians_per_step cheetah.max_rel_error jumpworm.jacobians_us jumpworm.step_us "
             "jumpworm.max_rel_error catapult.jacobians_us catapult.step_us catapult.max_rel_error",
    "LC-R2": "cartpole.ddp_abs_x cartpole.search_over_ddp_seconds double_cartpole.ddp_abs_angle double_cartpole.search_over_ddp_seconds "
             "catapult.shooting_loss catapult.search_over_shooting_seconds",
    "LC-R3": "plain.max_abs_control aware.final_loss aware.iterations",
    "LC-R4": "catapult.miss_m jumpworm.rise_m humanoid.clearance_m humanoid.failed_lcp",
    "BA-R1": "paper.mu1e-6.stable_s paper.mu1e-7.stable_s paper.mu1e-10.stable_s paper.mu1e-7.margin_m paper.margin_exponent "
             "paper.mu1e-7.force_error_N moment.mu1e-7.stable_s moment.mu1e-7.refined_margin_ratio_error "
             "paper.free.mu1e-7.stable_s moment.free.mu1e-7.stable_s intersections",
    "BA-R2": "seeds_solved paper.seeds_solved round.seeds_solved table.seeds_solved hard_round.seeds_solved drift_m "
             "verify.fine.within verify.lcp.within local.final_over_first lcp.final_over_first bundle.final_over_first "
             "intersections",
    "BA-R3": "paper.ms.512 paper.ms.6272 moment.ms.512 moment.ms.6272 paper.exponent brute.ms.512 paper.worst_over_mean.6272 "
             "paper.worst_ms.6272",
    "BA-R4": "solved seconds local.solved lcp.solved intersections paper.solved verify.fine.error_m verify.lcp.error_m "
             "verify.toi.error_m verify.mujoco.error_m variants_held",
    "BA-R5": "gather.solved sort.solved gather.seconds gather.verify.lcp.within local.gather.solved intersections",
    "BA-R6": "solved final_over_first local.final_over_first intersections paper.solved verify.fine.error_m verify.lcp.error_m "
             "verify.toi.error_m",
    "BA-R7": "bunny.solved bunny.frame_ms bunny.brute_ms bunny.ipc_ms franka.solved franka.frame_ms franka.gradient_error franka.adjoint_error intersections",
    "BA-R8": "solved_of_dt solved_of_mu intersections",
    "BA-R9": "ipc.second_derivative_jump barrier.second_derivative_jump ipc_global.final_over_first local.final_over_first "
             "barrier.final_over_first ipc.frame_ms",
    "DA-R1": "midpoint.alpha0.tv_m midpoint.alpha0.sign_changes midpoint.alpha0.max_gradient midpoint.alpha1.5.tv_m end.alpha0.tv_m "
             "end.alpha0.sign_changes adjoint_error rebound.midpoint.spread rebound.end.most",
    "DA-R2": "points.tau15.distance_m points.tau15.over_explicit points.tau63.distance_m radius.error_m",
    "DA-R3": "paper.max_gradient paper.tv_over_range undamped.max_gradient undamped.tv_over_range max_gradient_ratio "
             "detection.max_gradient detection.tv_over_range end.tv_over_range end.rebuilt_error end.alpha2.iterations "
             "gradient_error flip.solved",
    "DA-R4": "rebuilt_error end.rebuilt_error points.rebuilt_error points.end.rebuilt_error gradient_error "
             "no_frame_derivative.rebuilt_error detection.rebuilt_error detection.tv_over_range detection_ratio",
    "DA-R5": "mean_cost no_damping.ratio no_set.ratio end.ratio reference.mean_cost seconds",
    "SM-R1": "zero_set_radius_error box_zero_set_error_m",
    "SM-R2": "second_derivative_jump mujoco.second_derivative_jump gradient_before_contact",
    "SM-R3": "rk4_2ms_4k.dx_cm rk4_2ms_4k.dtheta_deg rk4_16ms_4k.dx_cm rk4_2ms_4k.step_ms goals_found_by_gradient",
    "TO-R1": "thick.1N.intersections thick.10N.intersections thin.1N.intersections thin.10N.intersections thick.1N.slip_m "
             "thick.10N.slip_m thin.1N.slip_m thin.10N.slip_m thick.1N.rise_error_m thick.10N.rise_error_m thin.1N.rise_error_m "
             "thin.10N.rise_error_m stalled balance.slip_m "
             "balance.dslip_dmu weak.dslip_dmu_error",
    "TO-R2": "final_loss vx_error vy_error evaluations seconds gradient_error fixed_vx.vy_error mesh.intersections "
             "mesh.final_error_m",
    "TO-R3": "prism.slope_error prism.stop_step cubes.final_speed cubes.momentum_error frictionless_steps toi.prism.slope_error "
             "toi.prism.stop_step toi.prism.distance_error",
    "TO-R4": "cubes.first_x_error cubes.second_x_error cubes.distance_over cubes.overlap cubes.momentum_error wall.passed "
             "wall.restitution_error drop.energy_error drop.slope_error bowling.intersections bowling.stalled bowling.energy_rise "
             "bowling.pins_down bowling30.intersections bowling30.stalled",
    "TO-R5": "pancake.intersections pancake.stalled pancake.final_loss pancake.evaluations",
    "TO-R6": "peg.intersections peg.stalled peg.final_loss peg.evaluations peg_mesh.intersections peg_mesh.stalled",
    "X-8": "lcp.balls.e0.gradient_error lcp.balls.e0.1.gradient_error lcp.balls.e0.3.gradient_error lcp.balls.e0.9.gradient_error "
           "toi.balls.e0.gradient_error lcp.balls.order lcp.floor.order lcp.sliding.order lcp.biped.order lcp.toss.median_error "
           "lcp.toss.toi_median_error toi.balls.order barrier.balls.order ipc.balls.order softmin.balls.order damped.balls.order",
}


def rows_of(done):
    result = json.loads(done.stdout)
    for row in result["rows"]:
        assert set(row) == {"name", "value", "band", "pass", "paper", "unit", "note"}
        bound = re.fullmatch(r"([<>])= (\S+)|reported", row["band"])
        assert bound, row["band"]
        if row["band"] != "reported":
            limit = float(bound[2])
            meets = row["value"] is not None and (row["value"] <= limit if bound[1] == "<" else row["value"] >= limit)
            assert row["pass"] == meets, row
    return result, {row["name"]: row for row in result["rows"]}


def test_list():
    told = run("reproduce").stdout
    assert told == run("reproduce", "--list").stdout
    ids = [e["id"] for e in json.loads(run("reproduce", "--list", "--json").stdout)]
    assert ids == [line.split()[0] for line in told.splitlines()] and set(ROWS) <= set(ids)
    run("reproduce", "LC-R9", code=1)


def test_kept_results_have_the_rows():
    for name, rows in ROWS.items():
        kept = json.loads((ROOT / "repro" / f"{name}.json").read_text())
        assert set(rows.split()) <= {row["name"] for row in kept["rows"]}, name


def test_prisms_and_cubes(tmp_path):
    result, rows = rows_of(run("reproduce", "to-r3", "--json", "--no-replay"))
    assert result["pass"] and result["id"] == "TO-R3" and result["machine"] and result["date"]
    assert set(ROWS["TO-R3"].split()) <= set(rows)
    assert rows["prism.stop_step"]["value"] == 139   # 2/(0.16 * 9 * 0.01) = 138.9


def test_ball_in_a_bowl():
    """a cost is rebuilt from its gradient; every band is met"""
    result, rows = rows_of(run("reproduce", "DA-R4", "--json", "--no-replay"))
    assert result["pass"] and set(ROWS["DA-R4"].split()) <= set(rows)


def test_two_balls():
    """the optimum is that of a closed form; how long it takes depends on the machine"""
    done = subprocess.run([EXE, "reproduce", "TO-R2", "--json", "--no-replay"], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 3)
    _, rows = rows_of(done)
    assert all(rows[name]["pass"] for name in ROWS["TO-R2"].split() if name != "seconds")


@pytest.mark.parametrize("name", ["TO-R5", "TO-R6"])
def test_pancake_and_peg(name):
    """controls by gradient through impacts; the same motions on every machine: every band is met"""
    result, rows = rows_of(run("reproduce", name, "--json", "--no-replay"))
    assert result["pass"] and set(ROWS[name].split()) <= set(rows)


@pytest.mark.parametrize("file", ["billiards_hard_round.yaml", "billiards_hard_table.yaml"])
def test_a_shot_in_hard_contact(file, tmp_path):
    """a shot of BA-R2 is found from rest, over the touch at which the term that led there has no slope left, and holds in shorter steps"""
    run("optimize", ROOT / "models" / file, "--threads", 1, "--no-replay", "--no-trust", "--out", tmp_path / "out")


def test_a_band_that_is_missed_is_exit_3(tmp_path):
    models = tmp_path / "models"
    shutil.copytree(ROOT / "models", models)
    text = (models / "prisms.xml").read_text()
    (models / "prisms.xml").write_text(text.replace('friction="0.16"', 'friction="0.15"'))
    done = subprocess.run([EXE, "reproduce", "TO-R3", "--json", "--no-replay"], capture_output=True, text=True, timeout=300,
                          env={"TANGERE_MODELS": str(models)})
    assert done.returncode == 3
    result, rows = rows_of(done)
    assert not result["pass"] and rows["prism.slope_error"]["value"] == pytest.approx(0.0009, rel=1e-6) and rows["cubes.final_speed"]["pass"]
    (models / "cubes.xml").unlink()
    done = subprocess.run([EXE, "reproduce", "TO-R3", "--json", "--no-replay"], capture_output=True, text=True, timeout=300,
                          env={"TANGERE_MODELS": str(models)})
    assert done.returncode == 4 and "cubes.xml" in done.stderr
    _, rows = rows_of(done)   # rows that could not be had are there, as misses
    assert rows["cubes.final_speed"]["value"] is None and not rows["cubes.final_speed"]["pass"]


def test_jacobians_agree_with_differences_in_the_scenes_of_the_paper():
    """times depend on the machine and what else it does: only their presence is tested"""
    done = subprocess.run([EXE, "reproduce", "LC-R1", "--json", "--no-replay"], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 3)
    _, rows = rows_of(done)
    assert set(ROWS["LC-R1"].split()) <= set(rows)
    left = re.findall(r"^LC-R1 scenes: (\d+) of (\d+), ([\d.]+) s left$", done.stderr, re.M)   # of a run of seconds
    assert [int(i) for i, _, _ in left] == list(range(1, int(left[0][1]) + 1)) and float(left[-1][2]) == 0
    for scene in ("atlas", "cheetah", "jumpworm", "catapult"):
        assert rows[f"{scene}.max_rel_error"]["pass"]
        assert rows[f"{scene}.jacobians_us"]["value"] > 0 and rows[f"{scene}.step_us"]["value"] > 0
    assert "33 dofs" in rows["atlas.jacobians_us"]["note"] and "24 contacts" in rows["atlas.jacobians_us"]["note"]


def test_interrupt():
    p = subprocess.Popen([EXE, "reproduce", "LC-R1", "--full", "--no-replay", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=20)
    assert p.returncode == 130 and not json.loads(out)["pass"]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    assert "file" in run("reproduce", "TO-R3", "--out", tmp_path / "file" / "out", code=2).stderr


@pytest.mark.skipif("TANGERE_LONG" not in os.environ, reason="make test-long")
@pytest.mark.parametrize("name", ["LC-R2", "LC-R3", "LC-R4", "BA-R4", "BA-R6", "BA-R8"])
def test_long(name, tmp_path):
    result, rows = rows_of(run("reproduce", name, "--json", "--out", tmp_path))
    assert result["pass"] and set(ROWS[name].split()) <= set(rows) and result["seconds"] < 600
    for path in result["left"]:
        assert os.path.getsize(path) > 100_000


def test_without_the_program_of_the_experiments(tmp_path):
    shutil.copy(EXE, tmp_path / "tangere")
    done = subprocess.run([tmp_path / "tangere", "reproduce"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 4 and done.stdout == "" and "tangere-reproduce cannot be run" in done.stderr
    assert subprocess.run([tmp_path / "tangere", "bench", "--list"], capture_output=True, timeout=60).returncode == 0
