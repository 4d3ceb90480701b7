#!/usr/bin/env python3
"""Fails when a reference in a comment leads nowhere.

Forms, in comments of C, Python, shell and CMake files and in the text of docs/*.md:
  [key] and [key place]            key of docs/references.bib; place (a section, an equation) is of that work and is not checked
  [math/page], [math/page place]   docs/math/page.md; place is an equation "(5)" that the page numbers, or how a heading starts
A bracket counts as a reference when it starts with a key or with math/, or looks like one: a word and a number, "[Foo 6.2]", a word
and an equation, "[foo (9)]", a word and a capital, "[foo F]", an acronym of three letters, "[FOO]", a letter and a number, "[E2]".
Every "Based on" needs such a reference before its paragraph ends. Papers that are not in the repository must not be named: design notes
by file name, or sections like E2 without a page."""
import pathlib
import re
import subprocess
import sys

me = pathlib.Path(__file__).resolve()
root = me.parent.parent
keys = set(re.findall(r"^@\w+\{([^,\s]+),", (root / "docs/references.bib").read_text(), re.M))

tag = re.compile(r"\[([^\[\]]+)\]")
looks = re.compile(r"[A-Za-z]\w* (?:\d[\d.]*|\(\w+\)|[A-Z])(?:[,;].*)?$|[A-Z]{3,4}$|[A-Z]\d+$|(?:[A-Z][a-z]+){2,}$")
outside = re.compile(r"\b(?:lcp_math|contact_math|barrier_facts)\b|\barchitecture(?:\.md)? \d|\b(?:architecture|promises|requirements)\.md|\bshared/(?:design|papers)|"
                     r"\bE[1-9](?:\([a-z]\))?(?=[,.;:) ]|$)")


def page(name, place):
    """None when the place exists, else what is wrong."""
    path = root / "docs/math" / (name + ".md")
    if not path.exists():
        return f"docs/math/{name}.md does not exist"
    text = path.read_text()
    if not place:
        return None
    if re.fullmatch(r"\(\d+\)", place):
        return None if re.search(r"^ +" + re.escape(place) + r"\s", text, re.M) else f"docs/math/{name}.md has no equation {place}"
    headings = [h.lower() for h in re.findall(r"^#+ +(.*)$", text, re.M)]
    return None if any(h.startswith(place.lower()) for h in headings) else f"docs/math/{name}.md has no heading '{place}...'"


def resolve(content):
    """(is a reference, what is wrong with it or None); several references in one bracket are divided by ';'."""
    first, _, place = content.strip().partition(" ")
    name = first.rstrip(",")
    if name.startswith("math/"):
        for k, part in enumerate(re.split(r"[,;] ", place)) if place else [(0, "")]:
            wrong = page(name[5:], part.strip())
            if wrong:
                return True, wrong
        return True, None
    if name in keys:
        return True, None
    if looks.match(content):
        return True, f"'{name}' is no key of docs/references.bib"
    return False, None


def comments(path):
    """(line number, comment text) of a file."""
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        fence = False
        for n, line in enumerate(text.splitlines(), 1):
            fence ^= line.startswith("```")
            if not fence:
                yield n, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
        return
    if path.suffix in (".c", ".h", ".def", ".ts", ".mjs"):
        # a comment starts at // outside a string; block comments are not used
        for n, line in enumerate(text.splitlines(), 1):
            m = re.match(r'(?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*//(.*)', line)
            if m:
                yield n, m.group(1)
        return
    doc = False
    for n, line in enumerate(text.splitlines(), 1):
        quotes = line.count('"""')
        if doc or quotes:
            yield n, line
        elif "#" in line:
            yield n, line.split("#", 1)[1]
        doc ^= quotes % 2 == 1


def check(path):
    faults, found, based = [], 0, None  # based: line of a "Based on" still without a reference
    lines = list(comments(path))
    code = path.suffix != ".md"
    for n, text in lines + [(10**9, "")]:
        here = 0
        for content in tag.findall(text):
            is_reference, wrong = resolve(content) if code or "math/" in content or content.partition(" ")[0] in keys else (False, None)
            here += is_reference
            if wrong:
                faults.append((n, f"[{content}]: {wrong}"))
        found += here
        m = outside.search(text) if code or path.parts[-2] == "math" else None
        if m:
            faults.append((n, f"'{m.group(0)}' is not in the repository; refer to docs/math or docs/references.bib"))
        if code and re.match(r"\s*Based on\b", text):
            if based:
                faults.append((based, "'Based on' without a reference"))
            based = n
        if based and here:
            based = None
        # its paragraph: comment lines without a gap, up to an empty one
        if based and n > based and (not text.strip() or n > based + 6):
            faults.append((based, "'Based on' without a reference"))
            based = None
    return faults, found


files = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
kinds = (".c", ".h", ".def", ".py", ".sh", ".cmake", ".md", ".ts", ".mjs")
bad = total = 0
for name in sorted(files):
    path = root / name
    if not path.is_file() or path.suffix not in kinds or path == me or not re.match(r"(src|repro|include|test|scenes|samples|bench|fuzz|tools|docs|viewer/src)/", name):
        continue
    faults, found = check(path)
    total += found
    bad += len(faults)
    for line, text in faults:
        print(f"{name}:{line}: {text}")
print(f"references: {len(keys)} works, {total} tags, {bad} that lead nowhere")
sys.exit(1 if bad else 0)
