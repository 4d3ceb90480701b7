"""The C headers as Sphinx sees them: declarations by libclang, texts from the comments beside them.

A comment of lines `///` belongs to the declaration below it and to those that follow without a blank line or a comment of their own; `///<` to
what is declared on its line. What has neither is listed by `problems`. `cheaders` is the directive that writes them out."""
import collections
import os
import pathlib
import re

from clang.cindex import CursorKind, Index, TranslationUnit, TypeKind
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from docutils import nodes

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDES = [ROOT / "include", *sorted((ROOT / "src/contact").glob("*/include"))]   # a contact model's own headers are beside it
Entry = collections.namedtuple("Entry", "kind name signatures text members line")
KINDS = {CursorKind.FUNCTION_DECL, CursorKind.TYPEDEF_DECL, CursorKind.STRUCT_DECL, CursorKind.ENUM_DECL, CursorKind.MACRO_DEFINITION}

MARKS = {"X", "TG_API", "TG_PRINTF"}   # macros that are no interface


class Header:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.lines = self.path.read_text().split("\n")
        self.problems = []
        self.listed = dict(re.findall(r'X\((\w+), -?\d+, "([^"]*)"\)', self.path.read_text()))   # an X-macro's entries carry their text
        for folder in INCLUDES:   # those of options name their kind first, and a model's struct holds those of its kind of step
            for header in folder.rglob("*.h"):
                self.listed |= dict(re.findall(r'X\((?!ALIAS|FORMER)[A-Z]+, (\w+), .*?"([^"]*)"\)', header.read_text().replace("\\\n", " ")))
        unit = Index.create().parse(str(path), args=["-std=c17", "-x", "c", *(f"-I{folder}" for folder in INCLUDES), *compiler_includes()],
                                    options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        for d in unit.diagnostics:
            if d.severity >= 2:
                self.problems.append(f"{self.path.name}: {d.spelling}")
        cursors = [c for c in unit.cursor.get_children() if c.kind in KINDS and c.location.file and c.location.file.name == str(path)]
        self.entries = self.read(sorted(cursors, key=lambda c: (c.extent.start.line, c.kind == CursorKind.TYPEDEF_DECL)))

    def above(self, line):
        """The `///` comment that ends just above a line; conditionals between them do not count."""
        i = line - 2
        while i >= 0 and self.lines[i].startswith("#if"):
            i -= 1
        text = []
        while i >= 0 and re.match(r"\s*///(?!<)", self.lines[i]):
            text.insert(0, self.lines[i].strip()[3:].strip())
            i -= 1
        return " ".join(text)

    def beside(self, line):
        """The `///<` comment at the end of a line, with those that continue it."""
        match = re.search(r"///<(.*)", self.lines[line - 1])
        if not match:
            return ""
        text = [match.group(1).strip()]
        while line < len(self.lines) and re.match(r"\s*///(<?)", self.lines[line]) and not re.match(r"///", self.lines[line]):
            text.append(re.sub(r"^\s*///<?", "", self.lines[line]).strip())
            line += 1
        return " ".join(text)

    def source(self, cursor):
        """What is written of a declaration, in one line, without the marks of visibility and the body of an inline function."""
        first, last = cursor.extent.start, cursor.extent.end
        part = self.lines[first.line - 1:last.line]
        part[-1] = part[-1][:last.column - 1]
        part[0] = part[0][first.column - 1:]
        text = " ".join(re.sub(r"//.*", "", line).strip() for line in part)
        if cursor.kind == CursorKind.FUNCTION_DECL:
            text = text.split("{")[0].removeprefix("static inline ")
        return re.sub(r"TG_PRINTF\([^)]*\)|\bTG_API\b", "", text).strip().rstrip(";").strip()

    def read(self, cursors):
        entries, end, defined = [], 0, {c.spelling for c in cursors if c.kind == CursorKind.STRUCT_DECL and c.is_definition()}
        enums = {c.spelling for c in cursors if c.kind == CursorKind.ENUM_DECL}
        for c in cursors:
            if c.kind == CursorKind.STRUCT_DECL and not c.is_definition() or c.spelling.endswith("_H") or c.spelling in MARKS:
                continue
            if c.kind == CursorKind.TYPEDEF_DECL and (c.spelling in defined or c.spelling in enums):
                continue
            start = c.extent.start.line
            text = self.above(start) or self.beside(start if c.is_definition() and c.kind != CursorKind.TYPEDEF_DECL else c.extent.end.line)
            entry = self.entry(c, text, start)
            if not text and entries and start <= end + 1 and entry.kind == entries[-1].kind and entry.kind in ("function", "macro"):
                entries[-1].signatures.extend(entry.signatures)
            else:
                if not text:
                    self.problems.append(f"{self.path.name}:{start}: {entry.name} has no comment")
                entries.append(entry)
            end = c.extent.end.line
        return entries

    def entry(self, c, text, line):
        if c.kind == CursorKind.FUNCTION_DECL:
            return Entry("function", c.spelling, [self.source(c)], text, [], line)
        if c.kind == CursorKind.MACRO_DEFINITION:
            named = re.match(r"\w+(\([^)]*\))?", self.source(c)).group(0)
            return Entry("macro", c.spelling, [named], text, [], line)
        if c.kind == CursorKind.TYPEDEF_DECL:
            written = self.source(c).removeprefix("typedef").strip()
            return Entry("type", c.spelling, [c.spelling if written.startswith("struct") else written if "(*" in written else c.spelling], text, [], line)
        kind = "struct" if c.kind == CursorKind.STRUCT_DECL else "enum"
        name = "" if "(unnamed" in c.spelling else c.spelling
        return Entry(kind, name, [name], text, self.members(c), line)

    def members(self, parent):
        """[(signatures, text)] of a struct's fields or an enum's constants; those of one line share its comment."""
        groups, inside = collections.OrderedDict(), [m for m in parent.get_children() if m.kind in (CursorKind.FIELD_DECL, CursorKind.ENUM_CONSTANT_DECL)]
        for m in inside:
            groups.setdefault(m.extent.end.line if m.spelling not in self.listed else m.spelling, []).append(m)
        found = []
        for line, members in groups.items():
            text = self.listed[line] if isinstance(line, str) else self.member_text(line, members[0].extent.start.line, parent)
            if not text and members[0].extent.start.line != parent.extent.start.line:
                self.problems.append(f"{self.path.name}:{line}: {parent.spelling}: {', '.join(m.spelling for m in members)} has no comment")
            found.append(([declared(m) for m in members], text))
        return found

    def member_text(self, line, start, parent):
        return "" if start == parent.extent.start.line else self.beside(line) or self.above(start)

    def intro(self):
        """The comment at the head of the file: (what it is, further paragraphs)."""
        head = []
        for line in self.lines:
            if not line.startswith("//"):
                break
            head.append(line[2:].strip())
        first, *rest = "\n".join(head).split("\n\n")
        return re.sub(r"^\S+\.h: ", "", first.replace("\n", " ")), [r.replace("\n", " ") for r in rest]


def declared(member):
    if member.kind == CursorKind.ENUM_CONSTANT_DECL:
        return f"{member.spelling} = {member.enum_value}"
    spelling = member.type.spelling
    if "(*" in spelling:
        return spelling.replace("(*", f"(*{member.spelling}", 1)
    if member.type.kind == TypeKind.CONSTANTARRAY:
        base, size = re.match(r"(.*?)\s*(\[.*)", spelling).groups()
        return f"{base} {member.spelling}{size}"
    return f"{spelling}{'' if spelling.endswith('*') else ' '}{member.spelling}"


def compiler_includes():
    """Where <stdbool.h> and <stddef.h> are: libclang from a wheel brings none."""
    import subprocess
    lines = subprocess.run(["cc", "-E", "-v", "-xc", "/dev/null"], capture_output=True, text=True).stderr.split("\n")
    return ["-I" + line.strip() for line in lines if re.match(r" /\S+$", line) and os.path.isdir(line.strip())]


def escaped(text, names):
    """A comment's text as reStructuredText: code in backquotes stays code, names of ours are links, everything else is what it is."""
    out = []
    for i, part in enumerate(text.split("`")):
        if i % 2:
            out.append(f"``{part}``")
            continue
        for j, piece in enumerate(re.split(r"\b((?:tg_|tg[A-Z]|TG_)\w+\*?)", part)):
            out.append(link(piece, names) if j % 2 else re.sub(r"([\\*|<>_])", r"\\\1", piece))
    return "".join(out).replace("`(", "`\\ (")   # markup ends at an escaped blank where no blank follows


def link(name, names):
    role = names.get(name)
    return f":c:{role}:`{name}`" if role else f"``{name}``"


def all_headers():
    return [Header(p) for folder in INCLUDES for p in sorted((folder / "tangere").glob("*.h"))]


def names_of(headers):
    roles = {"function": "func", "macro": "macro", "type": "type", "struct": "struct", "enum": "enum"}
    names = {}
    for h in headers:
        for e in h.entries:
            for s in e.signatures:
                plain = re.search(r"\b(tg_\w+|tg[A-Z]\w+|TG_\w+)\s*(?=\(|$|\))", s)
                names[plain.group(1) if plain and e.kind in ("function", "macro") else e.name] = roles[e.kind]
            if e.kind == "enum":
                names.update({re.match(r"\w+", s).group(0): "enumerator" for ss, _ in e.members for s in ss})
    return names


def written(header, names):
    lines = []

    def block(kind, signatures, text, depth):
        pad = "   " * depth
        head = f"{pad}.. c:{kind}:: "
        lines.extend([head + signatures[0], *[" " * len(head) + s for s in signatures[1:]], "", f"{pad}   {escaped(text, names)}", ""])

    for paragraph in header.intro()[1]:
        lines.extend([escaped(paragraph, names), ""])
    for e in header.entries:
        if e.name:
            block(e.kind, e.signatures, e.text, 0)
        else:
            lines.extend([escaped(e.text, names), ""])
        for signatures, text in e.members:
            block("enumerator" if e.kind == "enum" else "member", signatures, text, 1 if e.name else 0)
    return lines


class CHeaders(Directive):
    """.. cheaders:: writes out all headers, a section each: those named here first, in this order."""
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        env = self.state.document.settings.env
        first = (self.arguments or [""])[0].split()
        order = sorted(env.app.tangere_headers, key=lambda h: (first.index(h.path.stem) if h.path.stem in first else len(first), h.path.stem))
        lines = []
        for h in order:
            env.note_dependency(str(h.path))
            what = h.intro()[0]
            title = f"tangere/{h.path.name}"
            lines += [title, "-" * len(title), "", escaped(what[:1].upper() + what[1:], {}), "", *written(h, env.app.tangere_names)]
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(lines, source="include/tangere"), self.content_offset, node, match_titles=True)
        return node.children


def setup(app):
    from sphinx.util import logging
    headers = all_headers()
    app.tangere_headers, app.tangere_names = headers, names_of(headers)
    for h in headers:
        for p in h.problems:
            logging.getLogger(__name__).warning("%s", p)
    app.add_directive("cheaders", CHeaders)
    return {"version": "1", "parallel_read_safe": True}


if __name__ == "__main__":
    read = all_headers()
    found = [p for h in read for p in h.problems]
    print(*found, sep="\n", end="\n" if found else "")
    count = sum(len(e.signatures) + sum(len(s) for s, _ in e.members) for h in read for e in h.entries)
    print(f"headers: {len(read)}, {count} names, {len(found)} without a comment")
    raise SystemExit(1 if found else 0)
