"""The wheels of `make wheel` where people install them: in a root folder that holds one CPython, NumPy, the C and C++ run-time libraries and nothing else.

No compiler, no shell, no library of this machine but those that CPython itself is linked with; a wheel's own have other names, and `test_libraries` reads where the
loader takes each from. Every CPython at hand is tried: 3.11 with its wheel, 3.12 and later with the one of the stable interface.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import make_wheels as maker  # noqa: E402

WHEELS = sorted(maker.DIST.glob("*.whl"))
VERSIONS = [v for v in ("3.11", "3.12", "3.13", "3.14") if maker.find(v)]
# what manylinux promises and any CPython with NumPy needs
SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
UNUSED = ("_tkinter", "_curses", "_dbm", "_gdbm", "readline", "_test", "_ctypes_test")
ENTER = ["unshare", "-p", "-f", "-m", *([] if os.geteuid() == 0 else ["-r"])]
pytestmark = pytest.mark.skipif(not WHEELS, reason="no wheels: `make wheel` makes them")


def serves(version):
    """The wheel that CPython `version` takes."""
    tag = version.replace(".", "")
    return next((w for w in WHEELS if f"cp{tag}-cp{tag}-" in w.name), None) or next((w for w in WHEELS if "-abi3-" in w.name and tag >= "312"), None)


def libraries(files):
    """System paths of what these ELF files load."""
    said = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True).stdout
    return set(re.findall(r"(?:=> |^\t)(/\S+) \(0x", said, re.M))


def put(root, path):
    """The file of that absolute path, below the root at the same path."""
    to = root / str(path).lstrip("/")
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, to)


class Machine:
    """A bare root with one CPython and NumPy in /env, into which the wheel was installed by pip without a network."""

    def __init__(self, version, root):
        self.root, self.version, python = root, version, maker.find(version)
        self.enter = [*ENTER, f"--mount-proc={root}/proc", "chroot", root]   # the loader asks /proc where a program lies
        facts = subprocess.run([python, "-c", "import sys, sysconfig, os; print(os.path.realpath(sys.executable), sysconfig.get_path('stdlib'), sep='\\n')"],
                               capture_output=True, text=True, check=True).stdout.split()
        program, library = map(pathlib.Path, facts)
        put(root, program)
        leave_out = shutil.ignore_patterns("site-packages", "dist-packages", "test", "tests", "config-*", "__pycache__", "idlelib", "tkinter", *(f"{n}*.so" for n in UNUSED))
        shutil.copytree(library, root / str(library).lstrip("/"), ignore=leave_out)
        self.call(program, "-m", "venv", "--without-pip", "/env", system=[program, *(root / str(library).lstrip("/")).glob("lib-dynload/*.so")])
        self.site = next((root / "env/lib").glob("python3*")) / "site-packages"
        theirs = maker.venv(python, maker.WORK / f"user{version}", ["numpy==2.4.6"]).parent.parent
        for pattern in ("numpy*", "pip"):
            for package in (next((theirs / "lib").glob("python3*")) / "site-packages").glob(pattern):
                shutil.copytree(package, self.site / package.name)
        self.system(self.site.rglob("*.so*"))
        wheel = serves(version)
        put_at = root / "wheels"
        put_at.mkdir()
        shutil.copy(wheel, put_at)
        self.call("/env/bin/python", "-m", "pip", "install", "-q", "--no-index", f"/wheels/{wheel.name}")
        shutil.copy(ROOT / "samples/robot.urdf", root / "robot.urdf")

    def system(self, files):
        for path in libraries(files):
            if not (self.root / path.lstrip("/")).exists() and not path.startswith(str(self.root)) and ".libs/" not in path:
                put(self.root, path)

    def run(self, *words, **environment):
        environment = {"PATH": "/env/bin", "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1", **environment}
        words = [str(w) for w in words]
        return subprocess.run([*map(str, self.enter), *words], env={**environment, "PATH": f"/env/bin:{os.environ['PATH']}"}, capture_output=True, text=True, timeout=300)

    def call(self, *words, system=(), **environment):
        if system:
            self.system(system)
            for folder in ("dev", "proc", "tmp"):
                (self.root / folder).mkdir(exist_ok=True)
            (self.root / "dev/null").touch()
        done = self.run(*words, **environment)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def python(self, text, **environment):
        return self.call("/env/bin/python", "-c", text, **environment)


@pytest.fixture(scope="module", params=VERSIONS)
def machine(request, tmp_path_factory):
    if serves(request.param) is None:
        pytest.skip(f"no wheel serves CPython {request.param}")
    root = tmp_path_factory.mktemp("root")
    if subprocess.run([*ENTER, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces to change the root folder in")
    yield Machine(request.param, root)
    shutil.rmtree(root, ignore_errors=True)


def test_nothing_but_python_is_there(machine):
    programs = {p.name for p in machine.root.rglob("*") if p.is_file() and os.access(p, os.X_OK) and p.suffix not in (".so", ".py")}
    assert not programs & {"cc", "gcc", "g++", "clang", "ld", "as", "sh", "bash", "cmake", "ninja", "node"}
    held = {p.name.split(".so")[0] for p in (machine.root / "usr/lib").rglob("lib*.so*")} | {p.name.split(".so")[0] for p in (machine.root / "lib").rglob("lib*.so*")}
    assert not held & {"libqhull_r", "libcyaml", "libyaml-0", "libassimp", "libnlopt", "libpng16", "libmeshoptimizer", "libjansson", "libmicrohttpd", "libipopt", "libexpat"}


def test_libraries(machine):
    """Every library that the module and the programs load is the wheel's own or one that manylinux promises."""
    package = machine.site / "tangere"
    loader = next(machine.root.rglob("ld-linux-x86-64.so.2"))
    for path in (*package.glob("_tangere*.so"), *package.glob("bin/*"), *machine.site.glob("tangere.libs/*")):
        said = machine.call("/" + str(loader.relative_to(machine.root)), "--list", "/" + str(path.relative_to(machine.root)))
        for name, at in re.findall(r"^\t(\S+) => (\S+)", said, re.M):
            assert "tangere.libs/" in at or name in SYSTEM, f"{path.name} loads {name} from {at}"
        assert "not found" not in said


def test_examples(machine):
    said = machine.call("/env/bin/python", "-m", "tangere.examples", "cheetah", "--out", "/tmp/cheetah")
    assert re.search(r"^cheetah: [\d.]+ s$", said, re.M) and (machine.root / "tmp/cheetah/cheetah.html").stat().st_size > 1e5
    needs = machine.run("/env/bin/python", "-m", "tangere.examples", "shot")
    assert needs.returncode == 1 and "needs a package that is not installed" in needs.stderr and "scipy" in needs.stderr


def test_gradient(machine):
    said = machine.python("import tangere as tg; m = tg.load('/robot.urdf', ground='below'); s = tg.Sim(m, dt=0.005); "
                          "s.qpos[:] = m.inside(s.qpos); s.step(); print(s.jacobians().label, tg.gradcheck(s).ok)")
    assert said.split() == ["exact", "True"]
    # the code of a machine without AVX2 is in the wheel
    assert machine.python("import tangere as tg; s = tg.Sim(tg.load('/robot.urdf')); s.step(); print(tg.gradcheck(s, params=False).ok)", TANGERE_ISA="plain").split() == ["True"]


def test_command_line(machine):
    assert "simulate" in machine.call("/env/bin/tangere", "--help")
    machine.call("/env/bin/tangere", "simulate", "/robot.urdf", "--ground=below", "--inside-limits", "--steps", "40", "--out", "/tmp/first")
    assert (machine.root / "tmp/first/replay.html").stat().st_size > 1e5
    said = machine.call("/env/bin/tangere", "gradcheck", "/robot.urdf", "--ground=below", "--inside-limits")
    assert "PASS" in said or "exact" in said
    task = "/" + str((machine.site / "tangere/models/half_cheetah_reach.yaml").relative_to(machine.root))
    found = machine.run("/env/bin/tangere", "optimize", task, "--iterations", "2", "--out", "/tmp/reach")
    assert found.returncode == 3 and "not reached" in found.stdout + found.stderr and (machine.root / "tmp/reach/replay.html").exists()   # two iterations are too few


DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common><accessor source="#pa" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_parts(machine):
    """COLLADA is read by the bundled library; what stays out is named with what to install."""
    (machine.root / "part.dae").write_text(DAE)
    (machine.root / "part.urdf").write_text('<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
                                            '<collision><geometry><mesh filename="part.dae"/></geometry></collision></link></robot>')
    assert machine.python("import tangere as tg; print(len(tg.load('/part.urdf').field('mesh_vert')))").strip() == "4"
    models = "/" + str((machine.site / "tangere/models").relative_to(machine.root))
    refused = machine.run("/env/bin/tangere", "optimize", f"{models}/half_cheetah_reach.yaml", "--method", "shooting", "--out", "/tmp/shooting")
    assert refused.returncode != 0 and "Ipopt" in refused.stderr and "coinor-libipopt-dev" in refused.stderr and "source archive" in refused.stderr, refused.stderr


def test_import_time(machine):
    code = "import time, numpy; t = time.perf_counter(); import tangere; print(time.perf_counter() - t)"
    machine.call("/env/bin/python", "-m", "compileall", "-q", "/" + str((machine.site / "tangere").relative_to(machine.root)))
    assert min(float(machine.python(code)) for _ in range(5)) < 0.15


def test_three_commands(tmp_path):
    """From a wheel to a checked gradient on one's own URDF: in half of the minute that is allowed, by the processor, as other work lengthens the clock's."""
    version = VERSIONS[0]
    began = os.times()
    subprocess.run([maker.find(version), "-m", "venv", tmp_path / "env"], check=True)
    subprocess.run([tmp_path / "env/bin/pip", "install", "-q", "--disable-pip-version-check", serves(version)], check=True)
    said = subprocess.run([tmp_path / "env/bin/tangere", "gradcheck", ROOT / "samples/robot.urdf", "--ground=below", "--inside-limits"], capture_output=True, text=True, check=True).stdout
    ended = os.times()
    assert "exact" in said
    assert ended.children_user + ended.children_system - began.children_user - began.children_system < 30


@pytest.mark.parametrize("wheel", WHEELS, ids=[w.name for w in WHEELS])
def test_contents(wheel):
    assert wheel.stat().st_size <= maker.MOST
    assert re.search(r"manylinux_2_\d+_x86_64\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for library in {re.sub(r"[-_].*", "", n.split("/")[1]) for n in names if n.startswith("tangere.libs/") and not n.endswith("/")}:
            assert library.startswith("lib")
        libs = [n for n in names if n.startswith("tangere.libs/") and not n.endswith("/")]
        texts = [n for n in names if "/licenses/bundled/" in n]
        assert len(texts) == len(libs) and any(n.endswith("share/tangere/viewer.html") for n in names)
        assert not any("ipopt" in n or "coacd" in n.lower() for n in libs)
        for name in names:
            if re.search(r"_tangere.*\.so$|/bin/", name):
                assert str(ROOT).encode() not in archive.read(name), f"{name} names a folder of the machine that it was built on"


def test_older_systems_are_told(tmp_path):
    """pip refuses the wheel where the C library is too old, by the wheel's tag."""
    python = maker.venv(maker.find(VERSIONS[0]), maker.WORK / f"user{VERSIONS[0]}", ["numpy==2.4.6"])
    old = subprocess.run([python, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--no-index", "--target", tmp_path, "--platform", "manylinux_2_31_x86_64",
                          "--only-binary", ":all:", serves(VERSIONS[0])], capture_output=True, text=True)
    assert old.returncode != 0 and "not a supported wheel on this platform" in old.stderr


def test_source_archive():
    with tarfile.open(next(maker.DIST.glob("*.tar.gz"))) as archive:
        names = {n.split("/", 1)[1] for n in archive.getnames() if "/" in n}
    assert {"CMakeLists.txt", "LICENSE", "viewer/dist/index.html", "python/tangere/__init__.py", "src/CMakeLists.txt", "models/cartpole.yaml"} <= names
    assert not any(n.startswith(("test/", "fuzz/", "build/", "viewer/node_modules/")) for n in names)
