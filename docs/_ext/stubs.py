"""The Python interface as Sphinx sees it: signatures and docstrings of the generated stub and of the package's modules, read as text.

Nothing is imported, so frameworks need not be installed. A public name without a docstring is listed by `problems`. `pymodules` is the directive that
writes them out."""
import ast
import importlib.util
import inspect
import pathlib
import sys

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/tangere"


def sources():
    """{name: file} of the package (None: the stub and what __init__ exports) and of its public modules."""
    return {"tangere": None} | {f"tangere.{p.stem}": p for p in sorted(PACKAGE.glob("*.py")) if not p.stem.startswith("_")}



def stub():
    """The stub of the extension module: of a build folder, or of the installed package, whichever is newer. None: there is none."""
    spec = importlib.util.find_spec("tangere")
    places = [ROOT / "build/py/python/_tangere.pyi", *[pathlib.Path(p) / "_tangere.pyi" for p in (spec.submodule_search_locations if spec else [])]]
    return max((p for p in places if p.exists()), key=lambda p: p.stat().st_mtime, default=None)


def fresh():
    """The stub is not older than what it is generated from."""
    made = stub()
    return made is not None and all(made.stat().st_mtime >= p.stat().st_mtime for p in (ROOT / "python/src").iterdir())


def public(body, names=None):
    """Classes and functions of a module or class that users see."""
    for node in body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        if not text_of(node) and any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list):
            continue   # the function itself has the text
        if node.name in names if names is not None else not node.name.startswith("_") or node.name == "__init__":
            if not any(isinstance(d, ast.Attribute) and d.attr == "setter" for d in getattr(node, "decorator_list", [])):
                yield node


def fields(body):
    """Fields of a dataclass, with the text that stands behind each."""
    for node, behind in zip(body, body[1:]):
        if isinstance(node, ast.AnnAssign) and isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant):
            yield node, inspect.cleandoc(behind.value.value)


def text_of(node):
    return inspect.cleandoc(ast.get_docstring(node, clean=False) or "")


def short(annotation):
    """Types as people write them."""
    text = ast.unparse(annotation)
    return (text.replace("numpy.typing.NDArray[numpy.float64]", "numpy.ndarray").replace("numpy.typing.NDArray[Any]", "numpy.ndarray")
            .replace("object | None", "array | None").replace("object", "array"))


def signature(node):
    args = node.args
    for group in (args.posonlyargs, args.args, args.kwonlyargs):
        for a in group:
            if a.annotation is not None:
                a.annotation = ast.parse(f"_({short(a.annotation)!r})").body[0].value
    text = ast.unparse(args)
    for quote in ("_('", "')"):
        text = text.replace(quote, "")
    for first in ("self, /, ", "self, ", "self"):
        if text.startswith(first):
            text = text[len(first):]
            break
    return f"({text})" + (f" -> {short(node.returns)}" if node.returns is not None else "")


class Module:
    def __init__(self, name):
        self.name, self.problems = name, []
        if sources()[name] is None:
            own = ast.parse((PACKAGE / "__init__.py").read_text())
            names = next(ast.literal_eval(n.value) for n in own.body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__")
            beside = [n.module for n in own.body if isinstance(n, ast.ImportFrom) and n.level == 1 and n.module and n.module != "_tangere"]
            bodies = [ast.parse(p.read_text()) for p in (stub(), *(PACKAGE / f"{m}.py" for m in beside))]
            self.doc, self.nodes = ast.get_docstring(own), [n for b in bodies for n in public(b.body, names)]
            missing = set(names) - {n.name for n in self.nodes}
            self.problems += [f"{name}.{m} is exported and in no file that __init__.py imports from" for m in sorted(missing)]
        else:
            tree = ast.parse(sources()[name].read_text())
            self.doc, self.nodes = ast.get_docstring(tree), list(public(tree.body))
        self.count = 0
        self.lines = []
        for node in sorted(self.nodes, key=lambda n: n.name.lower()):
            self.write(node, 0, name)

    def write(self, node, depth, owner):
        pad, text = "   " * depth, text_of(node)
        self.count += 1
        if not text:
            self.problems.append(f"{owner}.{node.name} has no docstring")
        if isinstance(node, ast.ClassDef):
            made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
            self.block("class", node.name + (signature(made) if made else ""), text + ("\n\n" + text_of(made) if made else ""), pad)
            for n, text in fields(node.body):
                self.count += 1
                self.block("attribute", n.target.id, text, pad + "   ", f"   :type: {short(n.annotation)}")
            for n in public(node.body):
                if n.name != "__init__":
                    self.write(n, depth + 1, f"{owner}.{node.name}")
        elif any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
            self.block("property", node.name, text, pad, f"   :type: {short(node.returns)}" if node.returns is not None else None)
        else:
            self.block("method" if depth else "function", node.name + signature(node), text, pad)

    def block(self, kind, head, text, pad, option=None):
        self.lines += [f"{pad}.. py:{kind}:: {head}"] + ([pad + option] if option else []) + [""]
        self.lines += [f"{pad}   {line}" if line else "" for line in escaped(text).split("\n")] + [""]


def escaped(text):
    """A docstring's text is plain: code in backquotes stays code, the rest is what it is; a sentence a paragraph's worth."""
    parts = text.replace("``", "`").split("`")
    return "".join(f"``{p}``" if i % 2 else p.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|").replace("_", "\\_") for i, p in enumerate(parts))


def all_modules():
    return [Module(m) for m in sources()]


class PyModules(Directive):
    """.. pymodules:: writes out the package and all its public modules, a section each."""

    def run(self):
        env = self.state.document.settings.env
        env.note_dependency(str(stub()))
        lines = []
        for m in env.app.tangere_modules:
            first = escaped(m.doc.split("\n")[0])
            lines += [m.name, "-" * len(m.name), "", first, "", f".. py:module:: {m.name}", "", *m.lines]
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(lines, source="python/tangere"), self.content_offset, node, match_titles=True)
        return node.children


def setup(app):
    from sphinx.util import logging
    app.tangere_modules = all_modules()
    for m in app.tangere_modules:
        for p in m.problems:
            logging.getLogger(__name__).warning("%s", p)
    app.add_directive("pymodules", PyModules)
    return {"version": "1", "parallel_read_safe": True}


if __name__ == "__main__":
    if "--fresh" in sys.argv:
        sys.exit(0 if fresh() else 1)
    modules = all_modules()
    found = [p for m in modules for p in m.problems]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"python: {len(modules)} modules, {sum(m.count for m in modules)} names, {len(found)} without a docstring")
    raise SystemExit(1 if found else 0)
