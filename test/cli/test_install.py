"""An installed tree, moved to another place: programs built outside of the repository against it, as a user would."""
import os
import re
import shutil
import subprocess

import pytest

from command_line import ROOT

BUILD = ROOT / "build" / "release"
CMAKE = """cmake_minimum_required(VERSION 3.21)
project(user LANGUAGES C CXX)
find_package(tangere 0.1 REQUIRED COMPONENTS static)
foreach(kind tangere tangere_static)
  add_executable(gradient_${kind} SAMPLE)
  target_link_libraries(gradient_${kind} PRIVATE tangere::${kind} m)
  add_executable(cxx_${kind} user.cpp)
  target_compile_features(cxx_${kind} PRIVATE cxx_std_17)
  target_link_libraries(cxx_${kind} PRIVATE tangere::${kind})
  add_executable(contacts_${kind} CONTACTS)
  target_compile_features(contacts_${kind} PRIVATE cxx_std_17)
  target_compile_options(contacts_${kind} PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(contacts_${kind} PRIVATE tangere::${kind})
endforeach()
"""


def call(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip("no release build to install")
    folder = tmp_path_factory.mktemp("install")
    call("cmake", "--install", BUILD, "--prefix", folder / "first")
    shutil.move(folder / "first", folder / "moved")
    return folder / "moved"


@pytest.fixture
def lib(prefix):
    return next(prefix.glob("lib*/**/tangere.pc")).parent.parent


def check_gradient(program, **more):
    said = call(program, ROOT / "samples/ball.xml", **more)
    assert "0.6000" in said and "exact" in said


def everything(prefix):
    """A C++ program that takes in every header and makes a model."""
    names = sorted(p.name for p in (prefix / "include/tangere").glob("*.h"))
    lines = [f"#include <tangere/{name}>" for name in names]
    return "\n".join(lines) + """
#include <cstdio>
int main(int, char **argv) {
  tgError error = {};
  tgModel *m = tg_model_load(argv[1], nullptr, &error);
  std::printf("%d\\n", m != nullptr ? tg_model_nv(m) : -1);
  tg_model_free(m);
}
"""


@pytest.mark.parametrize("rules", ["cmake/install.cmake", "python/CMakeLists.txt"])
def test_no_kind_of_file_of_the_models_is_forgotten(rules):
    """An installed tree and the Python package take models by the ends of their names."""
    taken = re.search(r"install\(DIRECTORY \$\{PROJECT_SOURCE_DIR\}/models (.*?)\)", (ROOT / rules).read_text(), re.S)[1]
    assert {p.suffix for p in (ROOT / "models").rglob("*") if p.is_file()} == set(re.findall(r'PATTERN "\*(\.\w+)"', taken))


@pytest.mark.parametrize("package", ["tangere", "tangere-static"])
def test_pkg_config(prefix, lib, package, tmp_path):
    path = dict(os.environ, PKG_CONFIG_PATH=str(lib / "pkgconfig"), LD_LIBRARY_PATH=str(lib))
    flags = call("pkg-config", "--cflags", "--libs", package, env=path).split()
    call("cc", ROOT / "samples/gradient.c", "-o", tmp_path / "gradient", *flags, "-lm")
    check_gradient(tmp_path / "gradient", env=path)
    linked = call("ldd", tmp_path / "gradient", env=path)
    assert ("libtangere.so.0.1" in linked) == (package == "tangere")


def test_plain_compiler(prefix, lib, tmp_path):
    call("cc", ROOT / "samples/gradient.c", "-o", tmp_path / "gradient", f"-I{prefix}/include", f"-L{lib}", f"-Wl,-rpath,{lib}", "-ltangere", "-lm")
    check_gradient(tmp_path / "gradient")


def test_cmake_and_cxx(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.replace("SAMPLE", str(ROOT / "samples/gradient.c")).replace("CONTACTS", str(ROOT / "samples/contacts.cpp")))
    (tmp_path / "user.cpp").write_text(everything(prefix))
    call("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", tmp_path / "build")
    for kind in ("tangere", "tangere_static"):
        check_gradient(tmp_path / "build" / f"gradient_{kind}")
        assert call(tmp_path / "build" / f"cxx_{kind}", ROOT / "samples/ball.xml").strip() == "6"
        assert "N up" in call(tmp_path / "build" / f"contacts_{kind}", ROOT / "samples/ball.xml")
    # a program anywhere finds the page by its library
    viewer = prefix / "share/tangere/viewer.html"
    made = not viewer.exists()   # by Node
    if made:
        viewer.write_text('<script type="application/json" id="tangere-replay"></script><div id="tangere-data" hidden></div>')
    plain = {name: value for name, value in os.environ.items() if name != "TANGERE_VIEWER"}
    call(tmp_path / "build/contacts_tangere", ROOT / "samples/ball.xml", tmp_path / "page.html", env=plain)
    assert '"tangere-replay">{' in (tmp_path / "page.html").read_text()
    if made:
        viewer.unlink()


def test_names_and_programs(prefix, lib):
    exported = [line.split()[-1] for line in call("nm", "-D", "--defined-only", lib / "libtangere.so").splitlines()]
    assert len(exported) > 200 and all(name.startswith("tg_") for name in exported)
    assert "SONAME" in call("readelf", "-d", lib / "libtangere.so") and call(prefix / "bin/tangere", "--version").startswith("tangere ")


def commands(prefix):
    """{command: its options} as --help tells them."""
    tangere = prefix / "bin/tangere"
    names = re.findall(r"^  (\w+) ", call(tangere, "--help"), re.M)
    return {name: re.findall(r"^  (--[\w-]+)", call(tangere, name, "--help"), re.M) for name in names}


def test_manual(prefix):
    page = prefix / "share/man/man1/tangere.1"
    assert page.read_text() == call(prefix / "bin/tangere", "manual")
    text = page.read_text().replace("\\-", "-")
    for name, options in commands(prefix).items():
        part = text[text.index(f".SS {name} "):].split("\n.SS", 2)[0]
        assert re.findall(r"^\.B (--[\w-]+)", part, re.M) == options
    if shutil.which("man") is None:
        pytest.skip("no man to read the page")
    read = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, text=True, timeout=60, env=dict(os.environ, MANWIDTH="80"))
    assert read.returncode == 0 and read.stderr == "" and "--contact WORD" in read.stdout


def completed(script, *words):
    """What bash offers for the last of the words."""
    line = f'source {script}; COMP_WORDS=({" ".join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; _tangere; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return call("bash", "-c", line).split()


def test_completion(prefix):
    script = prefix / "share/bash-completion/completions/tangere"
    known = commands(prefix)
    assert completed(script, "tangere", "") == ["--help", "--version", *known]
    for name, options in known.items():
        if name != "completion":
            assert completed(script, "tangere", name, "--") == ["--help", *options]
    assert completed(script, "tangere", "simulate", "--contact", "so") == ["softmin"]
    assert completed(script, "tangere", "simulate", "--option", "slip") == ["slip_speed="]
    assert completed(script, "tangere", "completion", "z") == ["zsh"]
    assert completed(script, "tangere", "simulate", "robot") == []      # files, by bash itself
    for shell, file, check in (("zsh", "zsh/site-functions/_tangere", "-n"), ("fish", "fish/vendor_completions.d/tangere.fish", "-n")):
        text = (prefix / "share" / file).read_text()
        assert all(name in text for name in known)
        if shutil.which(shell):
            call(shell, check, prefix / "share" / file)


def test_uninstall(prefix, tmp_path):
    shutil.copytree(prefix, tmp_path / "tree", symlinks=True)
    call("cmake", f"-DPREFIX={tmp_path / 'tree'}", "-P", ROOT / "cmake/uninstall.cmake")
    assert not [p for p in (tmp_path / "tree").rglob("*") if not p.is_dir()]
