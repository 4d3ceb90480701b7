#!/usr/bin/env python3
"""usage: notebooks.py [--out FOLDER] [PAGE.md ...]

Makes a Jupyter notebook of each page of the documentation (docs/tutorial.md; into build/notebooks): its text as it is, its code as
cells that run from top to bottom in an empty folder, with `tangere` on the path. A block that the page says is a file is written by %%writefile, shell
is %%bash, and what the page says fails is marked so. What stands in comments before a block is read as test/python/test_docs.py reads it;
that test runs the notebook of the tutorial cell by cell."""
import argparse
import hashlib
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^((?:<!-- *[^\n]*--> *\n)*)```([^\n`]*)\n(.*?)^```", re.M | re.S)
MARK = re.compile(r"<!-- *([\w ]+?): *(.*?) *-->")


def cell(kind, text, place, tags=()):
    """One cell; its id is made of where it stands, so that a page gives the same file every time."""
    made = {"cell_type": kind, "id": hashlib.sha256(place.encode()).hexdigest()[:12], "metadata": {"tags": list(tags)} if tags else {},
            "source": text.strip("\n").splitlines(keepends=True)}
    if kind == "code":
        made |= {"execution_count": None, "outputs": []}
    return made


def code(language, marks, text):
    """Source and tags of the cell that a block becomes; None: the block is text to be read."""
    if "not run" in marks or "given" in marks:
        return None
    if "file" in marks:
        return f"%%writefile {marks['file']}\n{text}", ()
    if language == "sh":
        fails = int(marks.get("exit", 0)) != 0
        return f"%%bash{' --no-raise-error' if fails else ''}\n{text}", ()
    if language == "python":
        return text, ("raises-exception",) if "raises" in marks else ()
    return None


def notebook(page):
    """The notebook of a page, as nbformat 4.5 has it."""
    source, cells, end = page.read_text(), [], 0

    def prose(text):
        if text.strip():
            cells.append(cell("markdown", text, f"{page.name} {len(cells)}"))

    for m in BLOCK.finditer(source):
        made = code(m.group(2).strip(), dict(MARK.findall(m.group(1))), m.group(3))
        if made is None:
            continue
        prose(source[end:m.start()])
        cells.append(cell("code", made[0], f"{page.name} {len(cells)}", made[1]))
        end = m.end()
    prose(source[end:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/notebooks")
    p.add_argument("page", nargs="*", type=pathlib.Path, default=[ROOT / "docs/tutorial.md"])
    given = p.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for page in given.page:
        path = given.out / f"{page.stem}.ipynb"
        path.write_text(json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n")
        print(path)


if __name__ == "__main__":
    main()
