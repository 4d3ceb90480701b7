"""Runs every code block of the documentation, page by page from top to bottom, as a reader would: shell, Python, C, YAML and XML.

A page's blocks run in a folder of their own that has the repository's `models`, `samples`, `build` and `docs` in it. What stands in a comment before a block
says how it differs:

    <!-- file: robot.urdf -->            the block is written to that file, for the blocks after it
    <!-- same: samples/x -->            the block is that file of the repository, to the letter
    <!-- given: robot.urdf = models/x -->  the file is there before the block runs
    <!-- raises: text -->                a Python block that ends with an exception that says so
    <!-- exit: 3 -->                     a shell block that ends with that code
    <!-- not run: reason -->

A YAML block is a task file and is loaded; an XML block is a model and is loaded. A C block without `main` is the body of one in which `error` is declared. A block
whose language is not one of these, or `text`, fails the test: an unmarked block would escape it."""
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^((?:<!-- *[^\n]*--> *\n)*)```([^\n`]*)\n(.*?)^```", re.M | re.S)
DIRECTIVES = {"text", "math"}


def blocks(page):
    """[(line, language, marks, text)] of a page's fenced blocks."""
    source, found = page.read_text(), []
    for m in BLOCK.finditer(source):
        marks = dict(re.findall(r"<!-- *([\w ]+?): *(.*?) *-->", m.group(1)))
        found.append((source[:m.start(2)].count("\n") + 1, m.group(2).strip(), marks, m.group(3)))
    return [b for b in found if not b[1].startswith("{") and b[1] not in DIRECTIVES]


def indented(text, page):
    """Compiles Python such that a traceback names the page."""
    return compile(text, str(page.relative_to(ROOT)), "exec")


class Reader:
    """Runs a page's blocks in a folder, with what one leaves there for the next."""

    def __init__(self, page, folder):
        self.page, self.folder, self.names = page, folder, {"__name__": "__main__"}
        for name in ("models", "samples", "build", "docs", "repro"):
            (folder / name).symlink_to(ROOT / name)
        self.environment = dict(os.environ, PATH=f"{pathlib.Path(sys.executable).parent}:{ROOT / 'build/bin'}:{os.environ['PATH']}", MPLBACKEND="agg")

    def run(self, line, language, marks, text):
        at = f"{self.page.name}:{line}"
        if "not run" in marks:
            assert len(marks["not run"]) > 8, f"{at}: say why the block is not run"
            return
        if "same" in marks:
            assert text == (ROOT / marks["same"]).read_text(), f"{at}: differs from {marks['same']}"
        if "given" in marks:
            name, source = (s.strip() for s in marks["given"].split("="))
            shutil.copy(ROOT / source, self.folder / name)
        if "file" in marks:
            (self.folder / marks["file"]).write_text(text)
        run = getattr(self, "run_" + language, None)
        assert run is not None, f"{at}: a block of language '{language}'; known: {', '.join(n[4:] for n in dir(self) if n.startswith('run_'))}, text"
        run(at, marks, text)

    def run_python(self, at, marks, text):
        if "file" in marks:
            return
        code = indented("\n" * (int(at.rsplit(":", 1)[1])) + text, self.page)
        if "raises" in marks:
            with pytest.raises(Exception, match=re.escape(marks["raises"])):
                exec(code, self.names)   # noqa: S102
        else:
            exec(code, self.names)   # noqa: S102

    def run_sh(self, at, marks, text):
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120)
        want = int(marks.get("exit", 0))
        assert done.returncode == want, f"{at}: exit code {done.returncode}, not {want}\n{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"

    def run_c(self, at, marks, text):
        if "file" not in marks:
            (self.folder / "block.c").write_text(text if "main(" in text else body(text))
        name = marks.get("file", "block.c")
        library = ROOT / "build/release/src"
        assert (library / "libtangere.so").exists(), "build the release preset first: make test-release"
        command = ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-I", str(ROOT / "include"), *(f"-I{p}" for p in sorted((ROOT / "src/contact").glob("*/include"))), name, "-o", "block", f"-L{library}", "-ltangere",
                   f"-Wl,-rpath,{library}", "-lm"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{at}: {done.stderr}"
        done = subprocess.run(["./block"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{at}: exit code {done.returncode}\n{done.stdout}{done.stderr}"

    def run_yaml(self, at, marks, text):
        import tangere
        path = self.folder / marks.get("file", "block.yaml")
        path.write_text(text)
        tangere.Task(str(path))

    def run_xml(self, at, marks, text):
        import tangere
        path = self.folder / marks.get("file", "block.xml")
        path.write_text(text)
        tangere.load(str(path))


def body(text):
    """A C program around a block's lines: includes in front, the rest in main."""
    lines = text.split("\n")
    heads = [line for line in lines if line.startswith("#include")]
    rest = [line for line in lines if not line.startswith("#include")]
    return "\n".join(["#include <stdio.h>", *heads, "int main(void) {", "tgError error = {0};", *rest, "return 0;", "}", ""])


@contextlib.contextmanager
def inside(folder):
    before = pathlib.Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def cells(page):
    """The blocks of a page of which a notebook is made (tools/notebooks.py), with their text as the notebook's cells have it, which hold
    nothing else."""
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "tools/notebooks.py")
    notebooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebooks)
    made = json.loads(json.dumps(notebooks.notebook(page)))
    code = [c for c in made["cells"] if c["cell_type"] == "code"]
    page_blocks = [b for b in blocks(page) if notebooks.code(*b[1:]) is not None]
    assert made["nbformat"] == 4 and len({c["id"] for c in made["cells"]}) == len(made["cells"]) and len(code) == len(page_blocks)
    for (line, language, marks, _), c in zip(page_blocks, code):
        text = "".join(c["source"]) + "\n"
        magic, text = text.split("\n", 1) if text.startswith("%%") else ("", text)
        if "file" in marks:
            assert magic == f"%%writefile {marks['file']}"
        elif language == "sh":
            assert magic == ("%%bash --no-raise-error" if "exit" in marks else "%%bash")
        else:
            assert language == "python" and magic == "" and ("raises" in marks) == ("raises-exception" in c["metadata"].get("tags", []))
        yield line, language, marks, text


PAGES_WITH_CODE = [p for p in PAGES if blocks(p)]


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_page(page, tmp_path, monkeypatch):
    if "import torch" in page.read_text():
        for module in ("torch", "jax", "scipy", "gymnasium"):
            pytest.importorskip(module)
    monkeypatch.setenv("MPLBACKEND", "agg")
    reader = Reader(page, tmp_path)
    with inside(tmp_path):
        for block in cells(page) if page.name == "tutorial.md" else blocks(page):
            reader.run(*block)


def test_no_block_escapes():
    """What looks like code and is indented instead of fenced would not be run."""
    for page in PAGES:
        for n, line in enumerate(re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), page.read_text(), flags=re.M | re.S).split("\n"), 1):
            assert not re.match(r"    +(import |from \w+ import|cd |npm |make |cmake |build/bin/|pip |python -m)", line), f"{page.name}:{n}: fence this block"


def test_a_wrong_block_fails(tmp_path):
    page = ROOT / "README.md"
    reader = Reader(page, tmp_path)
    with inside(tmp_path):
        for language, text in (("python", "assert 1 == 2\n"), ("sh", "false\n"), ("c", "return 3;\n"), ("yaml", "model: none.xml\n"), ("xml", "<mujoco><wrong/></mujoco>\n"),
                               ("ruby", "puts 1\n")):
            with pytest.raises(Exception):   # noqa: B017
                reader.run(1, language, {}, text)


def test_a_name_without_a_text_is_found(tmp_path, monkeypatch):
    """The readers behind make docs: of a header with and without comments, of a module with and without docstrings."""
    pytest.importorskip("clang.cindex")
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))
    import headers
    import stubs
    path = tmp_path / "toy.h"
    path.write_text("""// toy.h: a toy.
/// A pair.
typedef struct tgPair {
  int a, b;   ///< its members
  int c;
} tgPair;
/// Two that belong together.
int tg_first(const tgPair *p);
int tg_second(const tgPair *p);

int tg_alone(void);
typedef enum tgWord { TG_YES, TG_NO } tgWord;  ///< An answer.
""")
    toy = headers.Header(path)
    assert [p.split(": ", 1)[1] for p in toy.problems] == ["tgPair: c has no comment", "tg_alone has no comment"]
    entry = next(e for e in toy.entries if e.name == "tg_first")
    assert entry.signatures == ["int tg_first(const tgPair *p)", "int tg_second(const tgPair *p)"]
    assert headers.escaped("a * `b*` of tg_first", headers.names_of([toy])) == "a \\* ``b*`` of :c:func:`tg_first`"
    monkeypatch.setattr(stubs, "PACKAGE", tmp_path)
    (tmp_path / "plot.py").write_text('"""A toy."""\ndef told():\n    """A text."""\n\n@overload\ndef two(a: int): ...\ndef two(a):\n    """A text."""\n\ndef untold():\n    pass\n\ndef _own():\n    pass\n')
    assert stubs.Module("tangere.plot").problems == ["tangere.plot.untold has no docstring"]


def option_rows(page):
    """{name: default} of the table of options on a contact model's page."""
    rows = {}
    for name, default in re.findall(r"^\| `(\w+)` \| ([^|]*) \|", page.read_text().split("<!-- options of")[1].split("<!-- end")[0], re.M):
        rows[name] = default.strip("`")
    return rows


def test_options_are_those_of_the_engine():
    """The table of a contact model's page is its list of options: names and defaults (test_option_tables writes the whole tables)."""
    import tangere
    pages = {p.stem: option_rows(p) for p in sorted((ROOT / "docs/contact").glob("*.md"))}
    assert sorted(pages) == sorted(tangere.contact_models())
    for word, rows in pages.items():
        listed = {o.name: o.default for o in tangere.contact_options(word)}
        assert list(rows) == list(listed), word
        for name, default in listed.items():
            assert (float(rows[name]) == default if type(default) is float else rows[name] == str(default).lower()), f"{word}: {name} is {default} by default, the page says {rows[name]}"
