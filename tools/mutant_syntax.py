"""What a mutant of tools/mutants.py is: one change of an expression or statement, found in the syntax tree of clang, and written into the source
as a choice that a program makes when it runs."""
import re

RELATION = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*"}
TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

HEAD = """#pragma GCC optimize ("O1")
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wpedantic"
extern int tgi_mutant;
int tgi_mutant_seen(int k);
#define TGI_MUTANT(k) (tgi_mutant == (k) || (tgi_mutant < 0 && tgi_mutant_seen(k)))
#line 1
"""
SWITCH = r"""// mutant.c: which mutant is on. TANGERE_MUTANT_SEEN names a file of a byte each: 1 for those that are reached.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
enum { MOST = 65536 };
extern int tgi_mutant;
int tgi_mutant;
static char *seen;
int tgi_mutant_seen(int k);
int tgi_mutant_seen(int k) {
  if (seen != NULL && seen[k] == 0) seen[k] = 1;
  return 0;
}
__attribute__((constructor)) static void choose(void) {
  const char *one = getenv("TANGERE_MUTANT"), *path = getenv("TANGERE_MUTANT_SEEN");
  if (one != NULL) tgi_mutant = atoi(one);
  int fd = one == NULL && path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (fd < 0) return;
  void *at = ftruncate(fd, MOST) == 0 ? mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  if (at == MAP_FAILED) return;
  seen = at;
  tgi_mutant = -1;
}
"""


class Finder:
    """Mutants of one file: (begin, end, kind, text of the original, text of the mutant), of byte offsets."""

    def __init__(self, path, source, tree):
        self.path, self.source, self.found, self.file, self.returns = path, source, [], None, ""
        for node in tree.get("inner", []):
            here = self.follow(node)
            if node.get("kind") == "FunctionDecl" and here == str(path):
                body = [n for n in node.get("inner", []) if n["kind"] == "CompoundStmt"]
                self.returns = node["type"]["qualType"].split("(")[0].strip()
                for n in body:
                    self.walk(n)

    def follow(self, node):
        """The file that a declaration of the outermost level is in: named only where it changes."""
        for place in (node.get("loc", {}), *(node.get("range", {}).get(k, {}) for k in ("begin", "end"))):
            for one in (place.get("spellingLoc", {}), place.get("expansionLoc", {}), place):
                self.file = one.get("file", self.file)
        here = self.file
        self.rest(node)
        return here

    def rest(self, node):
        for n in node.get("inner", []):
            for place in (n.get("loc", {}), *(n.get("range", {}).get(k, {}) for k in ("begin", "end"))):
                for one in (place.get("spellingLoc", {}), place.get("expansionLoc", {}), place):
                    self.file = one.get("file", self.file)
            self.rest(n)

    def span(self, node):
        ends = []
        for k in ("begin", "end"):
            at = node.get("range", {}).get(k, {})
            if "offset" not in at:
                at = at.get("expansionLoc", {}) if not at.get("expansionLoc", {}).get("isMacroArgExpansion") else {}
            if "offset" not in at:
                return None
            ends.append(at)
        return ends[0]["offset"], ends[1]["offset"] + ends[1].get("tokLen", 0)

    def text(self, begin, end):
        return self.source[begin:end].decode()

    def add(self, begin, end, kind, mutant):
        text = self.text(begin, end)
        if "//" not in text and "/*" not in text and "#" not in text and len(text) < 400:
            self.found.append((begin, end, kind, text, mutant))

    def walk(self, node):
        kind = node.get("kind", "")
        if kind in ("ConstantExpr", "UnaryExprOrTypeTraitExpr", "InitListExpr") or node.get("storageClass") == "static":
            return
        if kind == "CompoundStmt":
            for n in node.get("inner", []):
                self.statement(n)
        if kind in ("BinaryOperator", "CompoundAssignOperator"):
            self.binary(node)
        if kind == "UnaryOperator" and node["opcode"] in ("-", "!"):
            at, inner = self.span(node), self.span(node["inner"][0])
            if at and inner and self.text(*at).startswith(node["opcode"]):
                self.add(*at, "no " + node["opcode"], f"{self.text(*inner)}")
        if kind == "IfStmt":
            at = self.span(node["inner"][0])
            if at and node["inner"][0].get("kind") != "DeclStmt" and self.source[:at[0]].rstrip()[-1:] == b"(":
                self.add(*at, "condition turned round", f"!({self.text(*at)})")
        if kind == "ReturnStmt" and node.get("inner"):
            at = self.span(node["inner"][0])
            if at and "TG_OK" != self.text(*at) and self.returns == "tgStatus":
                self.add(*at, "status not passed on", "TG_OK")
            if at and self.returns in ("bool", "_Bool"):
                self.add(*at, "answer turned round", f"!({self.text(*at)})")
        for n in node.get("inner", []):
            if n:
                self.walk(n)

    def statement(self, node):
        at = self.span(node)
        if not at:
            return
        end = self.source.find(b";", at[1] - 1)
        text = self.text(*at)
        if text.startswith("TG_TRY(") and text.endswith(")"):
            self.add(at[0], at[1], "statement", f"(void)({text[7:-1]})")
        elif end >= 0 and self.source[at[1]:end].strip() == b"" and (
                node["kind"] in ("CompoundAssignOperator", "CallExpr") or node["kind"] == "BinaryOperator" and node["opcode"] == "="):
            if re.match(r"(free|fclose|close|tgi?_\w*free|\w+(->|\.)free|memset|va_end|tgi_atomic_discard)\b", text) is None:
                self.add(at[0], at[1], "statement", "(void)0")

    def binary(self, node):
        left, right = (self.span(n) for n in node["inner"][:2])
        if not left or not right or left[1] > right[0]:
            return
        operator = node["opcode"]
        if self.text(left[1], right[0]).strip() != operator:
            return
        a, b = self.text(*left), self.text(*right)
        types = [n.get("type", {}).get("qualType", "") for n in node["inner"][:2]]
        at = (left[0], right[1])
        if operator in RELATION:
            self.add(*at, f"{operator} to {RELATION[operator]}", f"{a} {RELATION[operator]} {b}")
            if operator in TURNED and "double" in types[0] + types[1]:
                self.add(*at, "NaN passes", f"!({a} {TURNED[operator]} {b})")
        elif operator in ARITHMETIC and "*" not in types[0] + types[1]:
            self.add(*at, f"{operator} to {ARITHMETIC[operator]}", f"{a} {ARITHMETIC[operator]} {b}")
            if operator in "+-":
                self.add(*at, "term dropped", a)
        elif operator in ("&&", "||"):
            other = "||" if operator == "&&" else "&&"
            self.add(*at, f"{operator} to {other}", f"({a}) {other} ({b})")
        elif operator in ("+=", "-="):
            self.add(*at, f"{operator} turned", f"{a} {'-=' if operator == '+=' else '+='} {b}")


def edited(source, mutants):
    """The source with all of the mutants in it, each behind its switch."""
    for m in sorted(mutants, key=lambda m: -m["begin"]):
        n, old, new = m["number"], m["was"], m["mutant"]
        text = f"(TGI_MUTANT({n}) ? ({new}) : ({old}))"
        if m["kind"] == "statement":
            text = f"do {{ if (TGI_MUTANT({n})) {new}; else {old}; }} while (0)"
        source = source[:m["begin"]] + text.encode() + source[m["end"]:]
    return HEAD.encode() + source
