# test_numpy.py: NumPy reads what the engine writes, and the engine what NumPy writes.
# The program comes from the CMake build; TG_BUILD names its folder (default build/release).
import csv
import io
import math
import os
import pathlib
import subprocess
import zipfile

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = pathlib.Path(os.environ.get("TG_BUILD", ROOT / "build/release")) / "test/output_sample"
if not SAMPLE.exists():
    pytest.skip(f"{SAMPLE} is not built: cmake --build --preset release --target output_sample", allow_module_level=True)

PLACE = '<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("output")
    (path / "viewer.html").write_text(PLACE)
    subprocess.run([SAMPLE, path, path / "viewer.html"], check=True)
    return path


def test_numpy_reads_ours(folder):
    with np.load(folder / "arrays.npz", allow_pickle=False) as data:
        assert set(data.files) == {"body_pos", "index", "seed", "raw", "time", "none", "loss"}
        pos = data["body_pos"]
        assert pos.shape == (161, 3, 3) and pos.dtype == np.dtype("<f8")
        t = 0.005 * np.arange(161)
        ball = np.stack([2 * t, -0.4 * t, 0.5 + 4 * t - 0.5 * 9.81 * t * t], axis=1)
        np.testing.assert_allclose(pos[:, 1], ball, rtol=1e-14, atol=1e-15)
        assert data["index"].dtype == np.dtype("<i4") and data["index"].tolist() == [-5, 0, 2**31 - 1]
        assert data["seed"].dtype == np.dtype("<i8") and data["seed"].tolist() == [-(2**63), 42]
        assert data["raw"].dtype == np.uint8 and data["raw"].tolist() == [[0, 1], [254, 255]]
        assert data["time"].shape == () and float(data["time"]) == 4.0
        assert data["none"].shape == (0, 7)
        assert np.isnan(data["loss"][3])


@pytest.mark.parametrize("which", range(3))
def test_numpy_reads_sizes_of_64_bits(folder, which):
    # written where they are not needed: of members and places, of the second place, of none but the directory's
    assert zipfile.ZipFile(folder / f"wide{which}.npz").testzip() is None
    with np.load(folder / f"wide{which}.npz", allow_pickle=False) as data:
        assert data["index"].tolist() == [-5, 0, 2**31 - 1] and data["seed"].tolist() == [-(2**63), 42]


def test_csv_is_the_same_doubles(folder):
    with open(folder / "loss.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["iteration", "loss"]
    loss = np.load(folder / "arrays.npz")["loss"]
    for i, (x, y) in enumerate(rows[1:]):
        assert float(x) == i
        assert float(y) == loss[i] or (math.isnan(float(y)) and math.isnan(loss[i]))


def read(path):
    run = subprocess.run([SAMPLE, "--read", path], capture_output=True, text=True)
    lines = [line.rsplit(" ", 2) for line in run.stdout.splitlines()]
    return run.returncode, {name[:-2]: (int(name[-1]), shape, float(total)) for name, shape, total in lines}, run.stderr


def test_we_read_sizes_of_64_bits_and_what_is_written_without_going_back(tmp_path, monkeypatch):
    class Pipe(io.RawIOBase):   # as a pipe, so that sizes stand behind the members
        def __init__(self, to):
            self.to = to

        def writable(self):
            return True

        def write(self, data):
            return self.to.write(data)

    want = {"u": (0, "(50,6)", pytest.approx(44850.0)), "s": (2, "()", 2.0**40)}
    arrays = {"u": np.arange(300.0).reshape(50, 6), "s": np.array(2**40)}
    for save in (np.savez, np.savez_compressed):
        with open(tmp_path / "pipe.npz", "wb") as file:
            save(Pipe(file), **arrays)
        assert read(tmp_path / "pipe.npz") == (0, want, "")
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    np.savez(tmp_path / "wide.npz", **arrays)
    assert b"PK\6\6" in (tmp_path / "wide.npz").read_bytes()
    assert read(tmp_path / "wide.npz") == (0, want, "")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_we_read_numpys(tmp_path, save):
    rng = np.random.default_rng(3)
    arrays = {
        "u": rng.normal(size=(50, 6)),
        "k": np.arange(-3, 9, dtype=np.int32).reshape(2, 2, 3),
        "s": np.array(2**40, dtype=np.int64),
        "b": np.frombuffer(b"tangere", dtype=np.uint8),
        "e": np.zeros((3, 0)),
    }
    save(tmp_path / "a.npz", **arrays)
    code, got, err = read(tmp_path / "a.npz")
    assert code == 0, err
    kind = {"<f8": 0, "<i4": 1, "<i8": 2, "|u1": 3}
    assert set(got) == set(arrays)
    for name, a in arrays.items():
        shape = "(" + ",".join(map(str, a.shape)) + ")"
        assert got[name][:2] == (kind[a.dtype.str], shape)
        assert got[name][2] == pytest.approx(float(a.sum()), rel=1e-12)


@pytest.mark.parametrize("array, word", [
    (np.zeros((2, 3)).T.copy(order="F"), "Fortran order"),
    (np.zeros(3, dtype=np.float32), "'<f4'"),
    (np.zeros(3, dtype=">f8"), "'>f8'"),
    (np.zeros(3, dtype=complex), "'<c16'"),
    (np.array([{}, None], dtype=object), "'|O'"),
    (np.zeros(3, dtype=[("a", "<f8")]), "records"),
    (np.array(["text"]), "'<U4'"),
])
def test_what_numpy_can_and_we_cannot(tmp_path, array, word):
    np.savez(tmp_path / "a.npz", x=array)
    code, _, err = read(tmp_path / "a.npz")
    assert code == 2 and "array 'x'" in err and word in err
