#!/usr/bin/env python3
"""Mutants of the sources in one build, switched by the environment, and the tests that kill them.

    tools/mutants.py make [--count 520] [--seed 0]     choose mutants, write the mutated copy of the tree, build it
    tools/mutants.py reach                             run every test once: which mutants it reaches, how long it takes
    tools/mutants.py run [--count 100] [--seed 0] [--only REGEX] [--seconds 60]
                                                       switch mutants on one by one, run the tests that reach each until one fails
    tools/mutants.py table [--open]                    what lives, as a table

A mutant is one change of an expression or statement, found in the syntax tree of clang: a sign or an operator, a term or a statement that
is dropped, a comparison that takes its bound or lets a NaN pass, a condition turned round, a status that is not passed on. All chosen ones
are in one build of the last commit: TANGERE_MUTANT=n switches the n-th on, without it the program is the original. What was found is kept in
build/mutants/*.json, so each step goes on where it was stopped. The copy is built with the flags of the release build."""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = ROOT / "build" / "mutants"
TREE = HOME / "tree"
BUILD = TREE / "build" / "release"

# share of the mutants that each part gets, and the first folder or file that matches a source is its part
PARTS = [("labels and status of rollouts", 0.13, r"src/rollout/(?!second)|src/check/(check|mode|motion|trust|rollout|step)\.c|src/step/(check|public|step|table)\.c"),
         ("journal, lock, ledger", 0.11, r"src/optim/(journal|lock|stages|methods|optimize)\.c|src/shard/"),
         ("command line", 0.12, r"src/cli/(?!shared/gradient)"),
         ("gradients", 0.14, r"src/.*(_vjp|_d|jacobian|derivative|second|sensitivity|gradient|parameters?|_param|differences|numdiff)\.c"),
         ("optimisers", 0.09, r"src/optim/"),
         ("parsers and files", 0.12, r"src/io/|src/output/|src/base/|src/desc/"),
         ("contact", 0.12, r"src/contact/"),
         ("dynamics and steps", 0.11, r"src/(dyn|kin|joint|step|math|sim|model)/"),
         ("collision and geometry", 0.07, r"src/(coll|geom)/")]
PER_FILE = 7      # so that not every file is compiled anew
# what no test reads the result of: waiting, the browser, the server of pages, text of help
NOT = re.compile(r"src/(cli/(browser|live|manual|picture)\.c|grad/twin\.c|base/threads\.c|base/child\.c|.*_kernel\.c)")
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


def load(name, default):
    path = HOME / name
    return json.loads(path.read_text()) if path.exists() else default


def save(name, what):
    part = HOME / (name + ".part")
    part.write_text(json.dumps(what, indent=0))
    part.replace(HOME / name)


# ---- finding them ----

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
    for m in sorted(mutants, key=lambda m: -m["begin"]):
        begin, end, n = m["begin"], m["end"], m["number"]
        old, new = m["was"], m["mutant"]
        if m["kind"] == "statement":
            text = f"do {{ if (TGI_MUTANT({n})) {new}; else {old}; }} while (0)"
        elif m["kind"] in ("+= turned", "-= turned"):
            text = f"(TGI_MUTANT({n}) ? ({new}) : ({old}))"
        else:
            text = f"(TGI_MUTANT({n}) ? ({new}) : ({old}))"
        source = source[:begin] + text.encode() + source[end:]
    return HEAD.encode() + source


def commands():
    file = ROOT / "build" / "release" / "compile_commands.json"
    if not file.exists():
        sys.exit("build/release is not configured: cmake --preset release")
    out = collections.defaultdict(list)
    for c in json.loads(file.read_text()):
        name = pathlib.Path(c["file"])
        if name.is_relative_to(ROOT / "src"):
            out[name.relative_to(ROOT).as_posix()].append(c["command"])
    return out


def part_of(name):
    return next((part for part, _, pattern in PARTS if re.match(pattern, name)), None)


def candidates(name, command):
    words = [w for w in command.split() if w.startswith(("-I", "-D", "-std"))]
    words += [w for at, w in enumerate(command.split()) if at and command.split()[at - 1] == "-isystem" for w in ("-isystem", w)]
    words = [w.replace(str(ROOT), str(TREE)) for w in words]
    done = subprocess.run(["clang", *words, "-fsyntax-only", "-w", "-Xclang", "-ast-dump=json", str(TREE / name)], capture_output=True)
    if done.returncode != 0:
        return []
    found = Finder(TREE / name, (TREE / name).read_bytes(), json.loads(done.stdout)).found
    return [dict(file=name, begin=b, end=e, kind=k, was=w, mutant=m) for b, e, k, w, m in found]


def compiles(path, command):
    words = command.split()
    words = [w for at, w in enumerate(words) if w not in ("-o", "-c") and words[at - 1] not in ("-o", "-c")]
    words = [w.replace(str(ROOT), str(TREE)) for w in words if not w.startswith("-MF")]
    return subprocess.run([*words, "-fsyntax-only", str(path)], capture_output=True).returncode == 0


def choose(count, seed):
    rng = random.Random(seed)
    calls, chosen = commands(), []
    for part, share, _ in PARTS:
        names = sorted(n for n in calls if part_of(n) == part and not NOT.search(n))
        rng.shuffle(names)
        taken, want = [], round(share * count)
        for name in names:
            pool = candidates(name, calls[name][0])
            rng.shuffle(pool)
            own = []
            for m in pool:
                if len(own) < min(PER_FILE, want - len(taken)) and not any(m["begin"] < t["end"] and t["begin"] < m["end"] for t in own):
                    own.append(dict(m, part=part))
            taken += own
            if len(taken) == want:
                break
        chosen += taken
        print(f"{part}: {len(taken)} mutants in {len({m['file'] for m in taken})} of {len(names)} files", flush=True)
    for number, m in enumerate(chosen, 1):
        m["number"] = number
        before = (TREE / m["file"]).read_bytes()[:m["begin"]]
        m["line"] = before.count(b"\n") + 1
    return chosen, calls


def make(args):
    HOME.mkdir(parents=True, exist_ok=True)
    TREE.mkdir(exist_ok=True)
    whole = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "x", "-C", str(TREE)], input=whole, check=True)
    (TREE / "src/base/mutant.c").write_text(SWITCH)
    mutants, calls = choose(args.count, args.seed)
    kept = []
    for name in sorted({m["file"] for m in mutants}):
        own = [m for m in mutants if m["file"] == name]
        source, path = (TREE / name).read_bytes(), TREE / name
        good = lambda some: path.write_bytes(edited(source, some)) and all(compiles(path, c) for c in calls[name])
        if not good(own):
            own = [m for m in own if good([m])]
            good(own)
        kept += own
    save("mutants.json", kept)
    for old in ("reach.json", "results.json"):
        (HOME / old).unlink(missing_ok=True)
    print(f"{len(kept)} mutants in {len({m['file'] for m in kept})} files", flush=True)
    build()


def build():
    for link in ("viewer/node_modules", "build/venv", "build/share"):
        if (ROOT / link).exists() and not (TREE / link).exists():
            (TREE / link).parent.mkdir(parents=True, exist_ok=True)
            (TREE / link).symlink_to((ROOT / link).resolve())
    subprocess.run(["cmake", "--preset", "release", "-DTG_BUILD_BENCH=OFF", "-DTG_BUILD_TWINS=OFF"], cwd=TREE, check=True)
    # programs of the shared library's public symbols alone do not see the switch: they are left out
    subprocess.run(["ninja", "-C", str(BUILD), "-k", "0", "-j", os.environ.get("JOBS", "2")], cwd=TREE)
    if not (TREE / "build/bin/tangere").exists():
        sys.exit("the mutants do not build")


# ---- the tests ----

def tests():
    """{name: command}: those of CTest without the label long, and the files of pytest that run the programs."""
    listed = subprocess.run(["ctest", "--preset", "release", "-LE", "long", "--show-only=json-v1"], cwd=TREE, capture_output=True, text=True, check=True)
    out = {}
    for t in json.loads(listed.stdout)["tests"]:
        set_to = next((p["value"] for p in t["properties"] if p["name"] == "ENVIRONMENT"), [])
        if t["name"] != "added_contact_model" and pathlib.Path(t.get("command", [""])[0]).is_file():
            out[t["name"]] = dict(command=t["command"], env=dict(s.split("=", 1) for s in set_to))
    # functions of pytest, not the parameters: a start of Python takes longer than most of them
    for path in sorted((TREE / "test/cli").glob("test_*.py")):
        if path.name in ("test_install.py", "test_reproduce.py"):
            continue
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M):
            command = [str(ROOT / "build/venv/bin/python"), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"{path}::{name}"]
            out[f"{path.name}::{name}"] = dict(command=command, env={})
    return out


def run_test(test, env, seconds):
    """(passed, seconds): a test that does not end in time did not pass."""
    began = time.monotonic()
    p = subprocess.Popen(test["command"], cwd=TREE, env={**os.environ, "TANGERE_EXE": str(TREE / "build/bin/tangere"), **test["env"], **env},
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        code = p.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        code = None
    try:
        os.killpg(p.pid, signal.SIGKILL)   # what it left behind
    except ProcessLookupError:
        pass
    p.wait()
    return code == 0, time.monotonic() - began


def reach(args):
    done = load("reach.json", {})
    every = tests()
    for name, test in every.items():
        if name in done or not re.search(args.only, name):
            continue
        seen = HOME / "seen"
        seen.unlink(missing_ok=True)
        passed, seconds = run_test(test, {"TANGERE_MUTANT_SEEN": str(seen)}, args.seconds)
        marks = seen.read_bytes() if seen.exists() else b""
        done[name] = dict(passed=passed, seconds=round(seconds, 2), mutants=[k for k, b in enumerate(marks) if b])
        print(f"{name}: {'passed' if passed else 'LEFT OUT, it fails or takes too long without a mutant'}, {seconds:.1f} s, {len(done[name]['mutants'])} mutants", flush=True)
        save("reach.json", done)


def run(args):
    every, seen, results = tests(), load("reach.json", {}), load("results.json", {})
    mutants = [m for m in load("mutants.json", []) if re.search(args.only, m["part"] + " " + m["file"])]
    random.Random(args.seed).shuffle(mutants)
    for m in mutants[:args.count]:
        key = str(m["number"])
        if key in results and not (args.again and results[key]["by"] is None):
            continue
        those = sorted((s["seconds"], n) for n, s in seen.items() if s["passed"] and m["number"] in s["mutants"] and n in every)
        spent, by = 0.0, None
        left = 0
        for seconds, name in those:
            if spent + seconds > args.seconds and spent > 0:
                left += 1
                continue
            passed, took = run_test(every[name], {"TANGERE_MUTANT": key}, 20 + 10 * seconds)
            spent += took
            if not passed:
                by = name
                break
        results[key] = dict(by=by, reached=len(those), left=left, seconds=round(spent, 1))
        print(f"{key} {m['file']}:{m['line']} {m['kind']}: {by or 'LIVES'} ({len(those)} tests reach it, {left} not run, {spent:.0f} s)", flush=True)
        save("results.json", results)


def table(args):
    """Killed: a test failed. Lives: all tests that reach it passed. Open: tests that reach it were not run, or none of those run does."""
    mutants, results = {str(m["number"]): m for m in load("mutants.json", [])}, load("results.json", {})
    word = lambda r: "killed" if r["by"] is not None else "lives" if r["reached"] and not r["left"] else "open"
    ran = [(mutants[k], word(r), r) for k, r in results.items() if k in mutants]
    lines = ["| part | mutants | run | killed | live | open |", "|---|---|---|---|---|---|"]
    for part in [p for p, _, _ in PARTS] + ["all"]:
        own = [w for m, w, _ in ran if part in (m["part"], "all")]
        lines.append(f"| {part} | {sum(part in (m['part'], 'all') for m in mutants.values())} | {len(own)} | {own.count('killed')} | "
                     f"{own.count('lives')} | {own.count('open')} |")
    one = lambda text: " ".join(text.split()).replace("|", "\\|")
    lines += ["", "| place | change | was | becomes | tests that reach it |", "|---|---|---|---|---|"]
    for m, w, r in sorted(ran, key=lambda x: (x[0]["file"], x[0]["line"])):
        if w == "lives" or args.open and w == "open":
            lines.append(f"| `{m['file']}:{m['line']}` | {one(m['kind'])} | `{one(m['was'])[:90]}` | `{one(m['mutant'])[:90]}` | {r['reached']} |")
    print("\n".join(lines))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("step", choices=["make", "build", "reach", "run", "table"])
    p.add_argument("--count", type=int)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", default="")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--again", action="store_true", help="run those again that were not killed")
    p.add_argument("--open", action="store_true", help="list those that are not decided, too")
    args = p.parse_args()
    args.count = args.count or (520 if args.step == "make" else 100)
    {"make": make, "build": lambda _: build(), "reach": reach, "run": run, "table": table}[args.step](args)


if __name__ == "__main__":
    main()
