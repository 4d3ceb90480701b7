"""tangere batch of a specification, its parts, its merge, kills and wrong input, as a user meets them."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import numpy
import pytest

from command_line import EXE, ROOT

SPEC = """task: slide_block_identify.yaml
job: rollouts
vary:
  - {option: erp, values: [0.1, 0.2, 0.3]}
  - {parameter: jnt_stiffness, of: x, values: [20, 40]}
seeds: 2
"""


def run(*args, code=0):
    done = subprocess.run([EXE, "batch", *map(str, args)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"exit {done.returncode}, wanted {code}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture
def spec(tmp_path):
    for name in ("slide_block_identify.yaml", "slide_block.xml"):
        (tmp_path / name).write_text((ROOT / "models" / name).read_text())
    (tmp_path / "s.yaml").write_text(SPEC)
    return tmp_path / "s.yaml"


def merged(*folders, code=0, out=None):
    return json.loads(run("--merge", *folders, *(("--out", out) if out else ()), "--json", code=code).stdout)


def test_a_specification_on_this_machine(spec, tmp_path):
    told = json.loads(run(spec, "--out", tmp_path / "out", "--json").stdout)
    assert told["shards"] == told["done"] == 12 and told["failed"] == 0 and "model " in told["of"]
    whole = merged(tmp_path / "out")
    assert whole["shards"] == 12
    rows = numpy.load(tmp_path / "out" / "merged.npz")
    assert rows["loss"].shape == (12,) and rows["gradient"].shape == (12, 2)
    assert rows["option erp"].tolist() == [0.1] * 4 + [0.2] * 4 + [0.3] * 4
    assert rows["jnt_stiffness of x"].tolist() == [20, 20, 40, 40] * 3 and rows["seed"].tolist() == [1, 2] * 6
    assert rows["loss"][0] != rows["loss"][2]
    # again: nothing is left to do
    assert "12 of 12" in run(spec, "--out", tmp_path / "out").stderr
    assert len((tmp_path / "out" / "ledger").read_text().splitlines()) == 13


def test_how_far_it_is_on_a_terminal(spec, tmp_path):
    """Drawn again while it runs: shards done, of how many, how many a second, and the time that the others take at that."""
    spec.write_text(SPEC.replace("seeds: 2", "seeds: 20000"))
    here, there = pty.openpty()
    p = subprocess.Popen([EXE, "batch", spec, "--out", tmp_path / "out"], stdout=subprocess.DEVNULL, stderr=there)
    os.close(there)
    told, end = b"", time.monotonic() + 60
    while b" least loss" not in told and time.monotonic() < end and select.select([here], [], [], 1) is not None:
        if select.select([here], [], [], 0)[0]:
            told += os.read(here, 4096)
    p.send_signal(signal.SIGINT)
    while select.select([here], [], [], 30)[0]:
        try:
            told += os.read(here, 4096)
        except OSError:       # the other end is closed
            break
    os.close(here)
    assert p.wait(timeout=60) == 130
    done, of, rate, left = re.search(r"(\d+) of (\d+) shards, (\S+) a second, (.*?) left", told.decode()).groups()
    assert 0 < int(done) < int(of) == 120000
    seconds = sum(float(n) * {"s": 1, "min": 60, "h": 3600}[unit] for n, unit in re.findall(r"([\d.]+) (s|min|h)", left))
    assert seconds == pytest.approx((120000 - int(done)) / float(rate), rel=0.02, abs=60)


def test_variables_from_a_file(spec, tmp_path):
    """Mass and friction that the task's places were made with leave no loss; a file without them is refused."""
    numpy.savez(tmp_path / "truth.npz", x=numpy.array([1.7, 0.31]))
    numpy.savez(tmp_path / "other.npz", y=numpy.array([1.7, 0.31]))
    spec.write_text("task: slide_block_identify.yaml\njob: rollouts\nvariables: truth.npz\nseeds: 2\n")
    run(spec, "--out", tmp_path / "out")
    merged(tmp_path / "out")
    rows = numpy.load(tmp_path / "out" / "merged.npz")
    assert rows["x"].tolist() == [[1.7, 0.31]] * 2 and (rows["loss"] < 1e-12).all()
    spec.write_text("task: slide_block_identify.yaml\njob: rollouts\nvariables: other.npz\n")
    assert "other.npz has no array 'x'" in run(spec, "--out", tmp_path / "none", code=2).stderr
    spec.write_text("task: slide_block_identify.yaml\njob: rollouts\nseeds: -3\n")
    assert "s.yaml" in run(spec, "--out", tmp_path / "none", code=2).stderr


def test_bits_are_those_of_all_results_in_their_order(spec, tmp_path):
    """FNV-1a over the shards' bits as the ledger has them, then how many points failed."""
    run(spec, "--out", tmp_path / "out")
    lines = [line.split() for line in (tmp_path / "out" / "ledger").read_text().splitlines()[1:]]
    of = {int(words[1]): int(words[3], 16) for words in lines}
    h = 0xCBF29CE484222325
    for byte in b"".join(of[k].to_bytes(8, "little") for k in range(12)) + (0).to_bytes(8, "little"):
        h = (h ^ byte) * 0x100000001B3 % 2**64
    assert merged(tmp_path / "out")["bits"] == f"{h:016x}"


def test_parts_of_a_cluster_s_array(spec, tmp_path):
    run(spec, "--out", tmp_path / "whole", "--threads", 1)
    parts = [tmp_path / f"part{i}" for i in range(5)]
    for i in reversed(range(5)):
        run(spec, "--out", parts[i], "--shard", f"{i}/5")
    assert merged(*parts, out=tmp_path / "all")["bits"] == merged(tmp_path / "whole")["bits"]
    assert "3 of 12 shards are missing (0, 5, 10)" in run("--merge", *parts[1:], code=2).stderr
    # all in one folder, at the same time
    jobs = [subprocess.Popen([EXE, "batch", spec, "--out", tmp_path / "one", "--shard", f"{i}/3"], stderr=subprocess.DEVNULL) for i in range(3)]
    assert [j.wait(60) for j in jobs] == [0, 0, 0]
    assert merged(tmp_path / "one")["bits"] == merged(tmp_path / "whole")["bits"]


def test_killed_at_any_moment_it_goes_on(spec, tmp_path):
    spec.write_text(SPEC.replace("seeds: 2", "seeds: 100"))
    run(spec, "--out", tmp_path / "whole")
    seen, delay = [], 0.02
    while len(seen) < 8 or not any(1 < n < 601 for n in seen):   # longer on a machine with more to do
        assert delay < 30, "no kill fell into the run"
        job = subprocess.Popen([EXE, "batch", spec, "--out", tmp_path / "out", "--threads", "2"], stderr=subprocess.DEVNULL)
        time.sleep(delay)
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
        ledger = tmp_path / "out" / "ledger"
        seen.append(len(ledger.read_text().splitlines()) if ledger.exists() else 0)
        delay += 0.01 if len(seen) < 8 else delay
    run(spec, "--out", tmp_path / "out")
    assert merged(tmp_path / "out")["bits"] == merged(tmp_path / "whole")["bits"]
    done = [int(line.split()[1]) for line in (tmp_path / "out" / "ledger").read_text().splitlines()[1:]]
    assert sorted(done) == list(range(600))


def test_interrupted_it_goes_on(spec, tmp_path):
    spec.write_text(SPEC.replace("job: rollouts", "job: optimize").replace("seeds: 2", "seeds: 200"))
    job = subprocess.Popen([EXE, "batch", spec, "--out", tmp_path / "out"], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "out" / "ledger").exists():
        time.sleep(0.01)
    os.kill(job.pid, signal.SIGINT)
    assert "the same command goes on from here" in job.communicate(timeout=60)[1] and job.returncode == 130


def test_motions_that_fail_are_counted(spec, tmp_path):
    spec.write_text("task: slide_block_identify.yaml\njob: rollouts\nvary: [{option: erp, values: [0.1, -5, 0.3]}]\n")
    assert json.loads(run(spec, "--out", tmp_path / "out", "--json", code=3).stdout)["failed"] == 1
    assert merged(tmp_path / "out", code=3)["failed"] == 1
    rows = numpy.load(tmp_path / "out" / "merged.npz")
    assert rows["status"].tolist().count(0) == 2 and numpy.isnan(rows["loss"][1])
    one = numpy.load(tmp_path / "out" / "shards" / "00000" / "00000001.npz")
    assert b"erp" in one["errors"].tobytes()


def test_contact_models_and_methods_vary(spec, tmp_path):
    spec.write_text("task: slide_block_identify.yaml\njob: optimize\nvary:\n  - {task: contact, values: [lcp, softmin]}\n"
                    "  - {task: method, values: [adam, lbfgs]}\n  - {task: iterations, values: [2, 3]}\n")
    run(spec, "--out", tmp_path / "out", "--threads", 1)
    merged(tmp_path / "out")
    rows = numpy.load(tmp_path / "out" / "merged.npz")
    assert rows["task iterations"].tolist() == [2, 3] * 4
    assert all(a != b for a, b in zip(rows["loss"][:4], rows["loss"][4:]))
    assert rows["iterations"][0] == 2 and rows["iterations"][1] == 3


@pytest.mark.parametrize("args,says", [(("--shard", "3/3"), "I from 0"), (("--shard", "x"), "I from 0"), (("--contact", "lcp"), "of a task"),
                                       (("--scheduler", "tcp://x:1", "--shard", "0/2"), "take one"),
                                       (("--scheduler", "tcp://x:1", "--lenient"), "without options"), (("--ground=below",), "ground")])
def test_usage(spec, tmp_path, args, says):
    assert says in run(spec, "--out", tmp_path / "out", *args, code=1).stderr


def test_wrong_input(spec, tmp_path):
    assert "needs --out" in run(spec, code=1).stderr
    assert "needs a specification" in run(tmp_path / "slide_block_identify.yaml", "--shard", "0/2", "--out", tmp_path / "o", code=1).stderr
    assert "one task or specification" in run(spec, spec, "--out", tmp_path / "o", code=1).stderr
    assert "has no ledger" in run("--merge", tmp_path, code=2).stderr
    for text, says in ((SPEC.replace("seeds: 2", "seeds: 0"), "makes no shard"), (SPEC.replace("seeds: 2", "seeds: 900000000"), "larger group"),
                       (SPEC.replace("erp", "erb"), "erb"), (SPEC + "wings: 2\n", "wings")):
        spec.write_text(text)
        assert says in run(spec, "--out", tmp_path / "bad", code=2).stderr
    assert not (tmp_path / "bad").exists()


def test_a_ledger_of_another_model(spec, tmp_path):
    run(spec, "--out", tmp_path / "out")
    model = tmp_path / "slide_block.xml"
    model.write_text(model.read_text().replace('stiffness="40"', 'stiffness="41"'))
    said = run(spec, "--out", tmp_path / "out", code=2).stderr
    assert "there: tangere" in said and "here:  tangere" in said and "goes on from here" not in said


def test_a_full_disk(spec, tmp_path):
    import resource

    def little():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
    done = subprocess.run([EXE, "batch", spec, "--out", tmp_path / "out"], capture_output=True, text=True, preexec_fn=little)
    assert done.returncode == 4 and "cannot be written" in done.stderr
    run(spec, "--out", tmp_path / "out")
    assert merged(tmp_path / "out")["shards"] == 12
