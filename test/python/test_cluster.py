"""tangere.cluster on real processes: what a scheduler, workers and the driver lose when they die, freeze or have no disk: nothing.

Each fault ten times with TANGERE_LONG=1; without, all of them in one run."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import tangere as tg

pytest.importorskip("distributed")
import farm  # noqa: E402

LONG = bool(os.environ.get("TANGERE_LONG"))


def wait_for(out, shards, timeout=60):
    until = time.monotonic() + timeout
    ledger = pathlib.Path(out) / "ledger"
    while not ledger.exists() or len(farm.lines(out)) < shards:
        assert time.monotonic() < until, f"{shards} shards are not done after {timeout} s"
        time.sleep(0.02)


# each fault is made when some shards are done; it returns the driver, which may be another one
def kill_worker(f, driver, again):
    os.kill(f.workers[0].pid, signal.SIGKILL)
    return driver


def freeze_worker(f, driver, again):
    frozen = f.workers[1]
    os.kill(frozen.pid, signal.SIGSTOP)
    f.frozen = frozen
    return driver


def full_disk(f, driver, again):
    f.fill_disk(2)
    return driver


def cut_link(f, driver, again):
    f.cut()
    time.sleep(3 * farm.TTL)   # longer than the scheduler waits for a sign of life
    f.cut("up")
    return driver


def kill_scheduler(f, driver, again):
    os.kill(f.scheduler.pid, signal.SIGKILL)
    f.scheduler.wait()
    f.start_scheduler()
    return driver


def kill_driver(f, driver, again):
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    return again()


FAULTS = {"kill -9 of a worker": kill_worker, "worker frozen": freeze_worker, "disk full on a worker": full_disk,
          "scheduler killed": kill_scheduler, "driver killed": kill_driver}
LINKS = os.geteuid() == 0 and subprocess.run(["sh", "-c", "ip netns add tgtry && ip netns del tgtry"], capture_output=True).returncode == 0


def run_with(tmp_path, faults, shards, link=False):
    """Seconds that the run took; all shards, each once in the ledger, and the bits of a serial run."""
    spec = farm.specification(tmp_path, shards)
    out = tmp_path / "out"
    f = farm.Farm(tmp_path / "log", workers=3, link=link)
    f.frozen = None
    try:
        began = time.monotonic()
        again = lambda: f.start_driver(spec, out)
        driver = again()
        for i, fault in enumerate(faults):
            wait_for(out, 1 + len(farm.lines(out)) if i else 4)
            assert len(farm.lines(out)) < shards, "the run ended before the fault"
            driver = fault(f, driver, again)
        code, result = f.result(driver, 120)
        took = time.monotonic() - began
        assert code == 0 and result["done"] == shards and result["lost"] == {}, result
    finally:
        if f.frozen is not None:
            os.kill(f.frozen.pid, signal.SIGCONT)
        f.close()
    assert sorted(farm.lines(out)) == list(range(shards))
    merged = tg.Shards.merge([str(out)], out)
    assert merged == farm.serial(spec, tmp_path / "serial")
    return took


def ten_times(tmp_path, name, faults, shards, link=False):
    times = []
    for k in range(10):
        times.append(run_with(tmp_path / str(k), faults, shards, link))
        shutil.rmtree(tmp_path / str(k))
    print(f"{name}: 10 runs of {shards} shards, each once, bits of the serial run; {min(times):.1f} to {max(times):.1f} s")


def test_all_faults_in_one_run(tmp_path):
    run_with(tmp_path, list(FAULTS.values()), 40)


@pytest.mark.skipif(not (LONG and LINKS), reason="TANGERE_LONG=1, and network namespaces allowed: a worker's link is cut ten times")
def test_a_link_is_cut_ten_times(tmp_path):
    ten_times(tmp_path, "link of a worker cut", [cut_link], 150, link=True)


@pytest.mark.skipif(not LONG, reason="TANGERE_LONG=1 makes each fault ten times")
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_ten_times(tmp_path, name):
    ten_times(tmp_path, name, [FAULTS[name]], 60)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    f = farm.Farm(tmp_path_factory.mktemp("log"), workers=1)
    yield f
    f.close()


def test_results_are_sent_where_no_folder_is_shared(tmp_path, quiet):
    import tangere.cluster
    spec = farm.specification(tmp_path, 5, iterations=2)
    assert tangere.cluster.run(spec, tmp_path / "out", quiet.address, shared=False)["done"] == 5
    assert tg.Shards.merge([str(tmp_path / "out")], tmp_path / "out") == farm.serial(spec, tmp_path / "serial")


def test_a_worker_with_another_model_is_refused_and_both_are_named(tmp_path, quiet):
    import tangere.cluster
    spec = farm.specification(tmp_path / "a", 3, iterations=2)
    other = farm.specification(tmp_path / "b", 3, iterations=2)
    (tmp_path / "b" / "m.xml").write_text(farm.MODEL.replace('mass="1"', 'mass="1.5"'))
    with pytest.raises(tg.Error) as refused:
        tangere.cluster.run(spec, tmp_path / "out", quiet.address, worker_spec=str(other))
    for shards in (tg.Shards(spec), tg.Shards(other)):
        assert shards.identity in str(refused.value)
    # nothing was lost: with the right one it goes on
    assert tangere.cluster.run(spec, tmp_path / "out", quiet.address)["done"] == 3


def test_results_over_a_megabyte_are_not_sent(tmp_path, quiet):
    import tangere.cluster
    spec = farm.specification(tmp_path, 1, steps=700, job="rollouts", group=50)
    spec.write_text(spec.read_text() + "trajectory: true\n")
    with pytest.raises(tg.Error, match="at most 1000000 are sent"):
        tangere.cluster.run(spec, tmp_path / "out", quiet.address, shared=False)


def test_motions_that_fail_are_results_and_not_tried_again(tmp_path, quiet):
    import tangere.cluster
    spec = farm.specification(tmp_path, 4, iterations=2)
    spec.write_text("task: t.yaml\njob: optimize\nvary: [{parameter: body_mass, of: block, values: [1, -1, 2]}]\n")
    said = []
    result = tangere.cluster.run(spec, tmp_path / "out", quiet.address, say=said.append)
    assert result["done"] == 3 and result["failed"] == 1 and not any("try" in line for line in said)


def test_a_shard_goes_to_another_worker_where_a_disk_is_full(tmp_path):
    import tangere.cluster
    spec = farm.specification(tmp_path, 8, iterations=10)
    f = farm.Farm(tmp_path / "log", workers=2)
    try:
        tangere.cluster.run(farm.specification(tmp_path / "warm", 8, iterations=10), tmp_path / "warm" / "out", f.address)
        until = time.monotonic() + 20
        while (f.log / "scheduler.log").read_text().count("Register worker") < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        f.fill_disk(0)
        said = []
        result = tangere.cluster.run(spec, tmp_path / "out", f.address, tries=2, say=said.append)
        assert result["lost"] == {} and result["done"] == 8
        assert any("cannot be written" in line for line in said)
    finally:
        f.close()


def test_two_drivers_on_one_ledger(tmp_path, quiet):
    import tangere.cluster
    spec = farm.specification(tmp_path, 2, iterations=2)
    held = tg.ShardLedger(tg.Shards(spec), tmp_path / "out")
    with pytest.raises(tg.Error, match="being written by another run"):
        tangere.cluster.run(spec, tmp_path / "out", quiet.address)
    held.close()


def test_no_scheduler(tmp_path):
    import tangere.cluster
    spec = farm.specification(tmp_path, 2)
    with pytest.raises(tg.Error, match="give the address"):
        tangere.cluster.run(spec, tmp_path / "out", "")
    with pytest.raises(tg.Error, match="does not answer"):
        tangere.cluster.run(spec, tmp_path / "out", f"tcp://127.0.0.1:{farm.free_port()}", wait=1)


def test_the_command_line_hands_over(tmp_path, quiet):
    from tangere import _program
    spec = farm.specification(tmp_path, 3, iterations=2)
    done = subprocess.run([_program.path(), "batch", spec, "--out", tmp_path / "out", "--scheduler", quiet.address, "--json"],
                          env=_program.environ() | {"TANGERE_PYTHON": sys.executable}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and '"done": 3' in done.stdout, done.stderr


def test_tls_and_who_has_no_certificate(tmp_path):
    import tangere.cluster
    own, other = farm.certificates(tmp_path / "own"), farm.certificates(tmp_path / "other")
    spec = farm.specification(tmp_path, 3, iterations=2)
    f = farm.Farm(tmp_path / "log", workers=1, tls=own)

    def words(folder):
        return [spec, "--out", tmp_path / "out", "--scheduler", f.address, "--wait", 2, "--tls-ca", folder / "ca.pem", "--tls-cert", folder / "cert.pem",
                "--tls-key", folder / "key.pem"]
    try:
        threads = threading.active_count()
        # a certificate of another authority, and none at all: refused before a shard is given out
        assert tangere.cluster.main([str(word) for word in words(other)]) == 2
        with pytest.raises(tg.Error, match="asks for certificates"):
            tangere.cluster.run(spec, tmp_path / "out", f.address, wait=2)
        with pytest.raises(tg.Error, match="does not answer"):
            tangere.cluster.run(spec, tmp_path / "out", f.address.replace("tls", "tcp"), wait=2)
        assert threading.active_count() == threads   # no client is left to the garbage collector, which could stop the next one for ever
        assert farm.lines(tmp_path / "out") == []
        assert tangere.cluster.main([str(word) for word in words(own)]) == 0
        assert sorted(farm.lines(tmp_path / "out")) == [0, 1, 2]
    finally:
        f.close()
