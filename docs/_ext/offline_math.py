"""Formulas as MathML, which browsers draw themselves: a page opened by double click fetches nothing. The conversion is that of docutils."""
import re

from docutils.utils.math import latex2mathml
from sphinx.errors import SphinxError


def mathml(tex, block):
    try:
        tree = latex2mathml.tex2mathml(tex, as_block=block)
    except Exception as e:
        raise SphinxError(f"formula that is not understood: {tex}\n{e}") from e
    return re.sub(r"\n\s*", "", str(tree))


def inline(self, node):
    self.body.append(mathml(node.astext(), False))
    raise_skip()


def display(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math") + mathml(node.astext().strip(), True) + "</div>")
    raise_skip()


def raise_skip():
    from docutils import nodes
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("offline", (inline, None), (display, None))
    return {"version": "1", "parallel_read_safe": True}
