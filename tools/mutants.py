#!/usr/bin/env python3
"""Mutants of the sources in one build, switched by the environment, and the tests that kill them.

    tools/mutants.py make [--count 540] [--seed 0]     take the mutants of tools/mutants.jsonl, or with --count choose others; write the mutated
                                                       copy of the tree, build it
    tools/mutants.py reach                             run every test once: which mutants it reaches, how long it takes
    tools/mutants.py run [--count 100] [--seed 0] [--only REGEX] [--seconds 60]
                                                       switch mutants on one by one, run the tests that reach each until one fails
    tools/mutants.py table                             what lives, as a table
    tools/mutants.py list                              write tools/mutants.jsonl: each mutant, and the test that kills it
    tools/mutants.py check                             each line of the two lists is of a place that the sources still have

A mutant is one change of an expression or statement, found in the syntax tree of clang: a sign or an operator, a term or a statement that
is dropped, a comparison that takes its bound or lets a NaN pass, a condition turned round, a status that is not passed on. All chosen ones
are in one build of the last commit: TANGERE_MUTANT=n switches the n-th on, without it the program is the original. What was found is kept in
build/mutants/*.json, so each step goes on where it was stopped. The copy is built with the flags of the release build."""
import argparse
import collections
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time

from mutant_syntax import SWITCH, Finder, edited

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = ROOT / "build" / "mutants"
LIST = ROOT / "tools" / "mutants.jsonl"   # a line each: number, part, file, line, column, kind, what was, what it becomes, the test that kills it or what it is
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
# the compiler is run in it; it looks at the tree of sources, not at what is computed; it takes minutes
NOT_RUN = ("added_contact_model", "interface", "test_reproduce.py::test_ball_in_a_bowl")


def load(name, default):
    path = HOME / name
    return json.loads(path.read_text()) if path.exists() else default


def save(name, what):
    part = HOME / f"{name}.{os.getpid()}.part"
    part.write_text(json.dumps(what, indent=0))
    part.replace(HOME / name)


# ---- finding them ----

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
        m["line"], m["column"] = before.count(b"\n") + 1, m["begin"] - before.rfind(b"\n")
    return chosen, calls


def listed():
    """The mutants of tools/mutants.jsonl, each with its `by`."""
    keys = ("number", "part", "file", "line", "column", "kind", "was", "mutant", "by")
    return [dict(zip(keys, json.loads(line))) for line in LIST.read_text().splitlines()] if LIST.exists() else []


def placed(m, source):
    """The mutant at the place of its text: of those in its column, if any, the one nearest to its line. None where the source has it no more."""
    edge = lambda at, text: rb"(?<!\w)" if at == 0 and re.match(r"\w", text) else rb"(?!\w)" if at and re.search(r"\w$", text) else b""
    returned = rb"(?<=return )" if m["kind"] in ("status not passed on", "answer turned round") else b""
    found = [f.start() for f in re.finditer(returned + edge(0, m["was"]) + re.escape(m["was"].encode()) + edge(1, m["was"]), source)]
    line = lambda begin: source[:begin].count(b"\n") + 1
    if not found:
        return None
    column = lambda begin: begin - source.rfind(b"\n", 0, begin)
    begin = min(found, key=lambda b: (column(b) != m["column"], abs(line(b) - m["line"]), abs(column(b) - m["column"])))
    return dict(m, begin=begin, end=begin + len(m["was"].encode()), line=line(begin), column=column(begin))


def from_list():
    """The mutants of the list, at their places in the sources of TREE; ends where the list has one that they have no more."""
    out, gone = [], []
    for m in listed():
        path = TREE / m["file"]
        now = placed(m, path.read_bytes()) if path.exists() else None
        (out if now else gone).append(now or m)
    if gone:
        sys.exit("\n".join(f"tools/mutants.jsonl: {m['file']} has no '{one_line(m['was'])}' (mutant {m['number']})" for m in gone))
    return out, commands()


def check(_):
    """Stale lines of the two lists are an error."""
    gone = [m for m in listed() if not (ROOT / m["file"]).exists() or placed(m, (ROOT / m["file"]).read_bytes()) is None]
    for m in gone:
        print(f"tools/mutants.jsonl: {m['file']} has no '{one_line(m['was'])}' (mutant {m['number']})")
    equal = equivalents({str(m["number"]): m for m in listed()})
    sys.exit(1 if gone else print(f"{len(listed())} mutants and {len(equal)} that change nothing have their places"))


def write_list(_):
    results = load("results.json", {})
    mutants = {str(m["number"]): m for m in load("mutants.json", [])}
    equal, every, seen = equivalents(mutants), tests(), load("reach.json", {})
    lines = []
    for k, m in sorted(mutants.items(), key=lambda x: int(x[0])):
        state = word(results.get(k), k in equal, *reaching(k, every, seen))
        lines.append(json.dumps([m["number"], m["part"], m["file"], m["line"], m["column"], m["kind"], m["was"], m["mutant"], results[k]["by"] if state == "killed" else state]))
    LIST.write_text("\n".join(lines) + "\n")


def make(args):
    HOME.mkdir(parents=True, exist_ok=True)
    TREE.mkdir(exist_ok=True)
    whole = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "x", "-C", str(TREE)], input=whole, check=True)
    (TREE / "src/base/mutant.c").write_text(SWITCH)
    mutants, calls = choose(args.count or 540, args.seed) if args.count or not LIST.exists() else from_list()
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
    for old in ("reach.json", "results.json", "tests.json"):
        (HOME / old).unlink(missing_ok=True)
    print(f"{len(kept)} mutants in {len({m['file'] for m in kept})} files", flush=True)
    build()


def build():
    for link in ("viewer/node_modules", "build/venv", "build/share"):
        if (ROOT / link).exists() and not (TREE / link).exists():
            (TREE / link).parent.mkdir(parents=True, exist_ok=True)
            (TREE / link).symlink_to((ROOT / link).resolve())
    subprocess.run(["cmake", "--preset", "release", "-DTG_BUILD_BENCH=OFF", "-DTG_BUILD_TWINS=ON"], cwd=TREE, check=True)
    # programs of the shared library's public symbols alone do not see the switch: they are left out
    subprocess.run(["ninja", "-C", str(BUILD), "-k", "0", "-j", os.environ.get("JOBS", "2")], cwd=TREE)
    if not (TREE / "build/bin/tangere").exists():
        sys.exit("the mutants do not build")
    (HOME / "tests.json").unlink(missing_ok=True)
    tests()


def renew(_):
    """The tests as they are now; those that have changed are to be run again."""
    before, kept = {n: stamp(t) for n, t in tests().items()}, load("reach.json", {})
    # what differs is written anew, with the time of now: an object made in between is older than it
    for folder in ("test", "models", "scenes", "samples"):
        for path in (ROOT / folder).rglob("*"):
            to = TREE / path.relative_to(ROOT)
            if path.is_file() and "__pycache__" not in path.parts and (not to.exists() or to.read_bytes() != path.read_bytes()):
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(path.read_bytes())
    build()
    after = {n: stamp(t) for n, t in tests().items()}
    changed = {n for n in after if before.get(n) != after[n]}
    print(f"{len(changed)} tests have changed: {' '.join(sorted(changed))}")
    save("reach.json", {n: s for n, s in kept.items() if n in after and n not in changed})
    results = load("results.json", {})
    for k in list(results):
        results[k]["passed"] = [n for n in results[k]["passed"] if n not in changed]
        if results[k]["by"] in changed or results[k]["by"] and results[k]["by"] not in after:
            del results[k]
    save("results.json", results)


def stamp(test):
    """A sum of the program, or of the text of the function of pytest."""
    if test["command"][0] != "pytest":
        return hashlib.sha256(pathlib.Path(test["command"][0]).read_bytes()).hexdigest()
    path, name = test["command"][1].split("::")
    parts = re.split(r"^(?=@pytest|def |class |[A-Z])", pathlib.Path(path).read_text(), flags=re.M)
    return "".join(part + (before if before.startswith("@") else "") for before, part in zip(["", *parts], parts) if re.match(rf"def {name}\b", part))


# ---- the tests ----

PYTEST = ["-q", "-x", "-p", "no:cacheprovider", "-W", "ignore"]


def tests():
    """{name: {command, env, folder}}: those of CTest without the label long, and the functions of pytest that run the programs."""
    kept = load("tests.json", None)
    if kept is not None:
        return kept
    listed = subprocess.run(["ctest", "--preset", "release", "-LE", "long", "--show-only=json-v1"], cwd=TREE, capture_output=True, text=True, check=True)
    out = {}
    for t in json.loads(listed.stdout)["tests"]:
        set_to = next((p["value"] for p in t["properties"] if p["name"] == "ENVIRONMENT"), [])
        if t["name"] not in NOT_RUN and pathlib.Path(t.get("command", [""])[0]).is_file():
            out[t["name"]] = dict(command=t["command"], env=dict(s.split("=", 1) for s in set_to))
    # functions of pytest, not the parameters
    for path in sorted((TREE / "test/cli").glob("test_*.py")):
        if path.name == "test_install.py":
            continue
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M):
            if f"{path.name}::{name}" not in NOT_RUN:
                out[f"{path.name}::{name}"] = dict(command=["pytest", f"{path}::{name}"], env={})
    folders = {p.stem: p.parent.name for p in (TREE / "test").rglob("test_*.c")}
    for name, test in out.items():
        test["folder"] = "cli" if test["command"][0] == "pytest" else folders.get(re.sub(r"_(cx|more|avx\w+|sse\w+)$", "", name), "")
    save("tests.json", out)
    return out


def start(test, env, cpu):
    """(process id, the end of a pipe that it writes its errors to)."""
    out, into = os.pipe()
    pid = os.fork()
    if pid:
        os.close(into)
        return pid, out
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
        os.chdir(TREE)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(into, 2)
        os.environ.update({"TANGERE_EXE": str(TREE / "build/bin/tangere"), **test["env"], **env})
        if test["command"][0] == "pytest":
            import pytest
            os._exit(int(pytest.main([*PYTEST, "--basetemp", f"/tmp/tangere-mutants-{os.getpid()}", test["command"][1]])))
        os.execvp(test["command"][0], test["command"])
    finally:
        os._exit(127)


def run_test(test, env, seconds=None, most=900):
    """(how it failed or None, seconds of the processors, seconds on the clock). It is ended at its first failure, at four times its own
    processor time and three seconds more, and, as one that waits, at twenty times its own time and half a minute more."""
    cpu, wall = (int(min(most, 900)), 900) if seconds is None else (int(4 + 4 * test["cpu"]), 30 + 20 * seconds)
    began, how = time.monotonic(), None
    pid, out = start(test, env, cpu)
    tail, code, use, closed = b"", 0, None, False
    while use is None:
        # a program may close its errors and go on, and one that ends may leave another that has them open
        if closed:
            time.sleep(0.002)
        elif select.select([out], [], [], 0.02)[0]:
            some = os.read(out, 65536)
            tail, closed = (tail + some)[-65600:], not some
        if how is None and (b"[  FAILED  ]" in tail or time.monotonic() > began + wall):
            how = "failed" if b"[  FAILED  ]" in tail else "time"
            kill(pid)
        got, code, used = os.wait4(pid, os.WNOHANG)
        use = used if got else None
    os.close(out)
    kill(pid)   # what it left behind
    for left in pathlib.Path("/tmp").glob(f"tangere-mutants-{pid}*"):
        shutil.rmtree(left, ignore_errors=True)
    if how is None and os.WIFSIGNALED(code):
        by = os.WTERMSIG(code)
        how = "time" if by in (signal.SIGXCPU, signal.SIGKILL) else signal.Signals(by).name
    if how is None and os.WEXITSTATUS(code):
        how = "failed"
    return how, use.ru_utime + use.ru_stime, time.monotonic() - began


def kill(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def workers(jobs, todo, work, took):
    """work(item) in that many processes, took(item, answer) here, in the order in which they end."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        import numpy, pytest  # noqa: E401, F401 before the tests of pytest are forked
    except ImportError:
        sys.exit("run it by build/venv/bin/python: pytest and NumPy are wanted")
    pipes, busy = [], {}
    for _ in range(jobs):
        here, there = multiprocessing.Pipe()
        if os.fork() == 0:
            here.close()
            for other in pipes:
                other.close()
            try:
                while (item := there.recv()) is not None:
                    there.send(work(item))
            except (EOFError, KeyboardInterrupt):
                pass
            os._exit(0)
        there.close()
        pipes.append(here)
    todo = iter(todo)

    def give(pipe):
        item = next(todo, None)
        pipe.send(item)
        if item is not None:
            busy[pipe] = item

    for pipe in pipes:
        give(pipe)
    while busy:
        for pipe in multiprocessing.connection.wait(list(busy)):
            took(busy.pop(pipe), pipe.recv())
            give(pipe)


def reach(args):
    done, every = load("reach.json", {}), tests()
    todo = [n for n in every if n not in done and re.search(args.only, n)]
    todo.sort(key=lambda n: ["cli", "rollout", "optim", "shard", "step", "check"].index(every[n]["folder"]) if every[n]["folder"] in
              ["cli", "rollout", "optim", "shard", "step", "check"] else 9)

    def work(name):
        seen = HOME / f"seen-{os.getpid()}"
        seen.unlink(missing_ok=True)
        how, cpu, seconds = run_test(every[name], {"TANGERE_MUTANT_SEEN": str(seen)}, most=args.longest)
        marks = seen.read_bytes() if seen.exists() else b""
        seen.unlink(missing_ok=True)
        if how and cpu > 0.9 * args.longest:   # a program that a test started may have been ended for its time
            return None
        return dict(passed=how is None, cpu=round(cpu, 3), seconds=round(seconds, 3), mutants=[k for k, b in enumerate(marks) if b])

    def took(name, r):
        if r is None:
            print(f"{name}: not within {args.longest} s", flush=True)
            return
        done[name] = r
        print(f"{name}: {'passed' if r['passed'] else 'LEFT OUT, it fails or takes too long without a mutant'}, {r['cpu']:.1f} s, "
              f"{len(r['mutants'])} mutants", flush=True)
        save("reach.json", done)

    workers(args.jobs, todo, work, took)


def confirm(args):
    """Each mutant with the test that killed it, by the results or the list: what does not fail any more is open again. The quick ones first."""
    every, seen, results = tests(), load("reach.json", {}), load("results.json", {})
    mutants = {str(m["number"]): m for m in load("mutants.json", [])}
    by = {str(m["number"]): m["by"] for m in listed() if m["by"] in every}
    by.update({k: r["by"] for k, r in results.items() if r["by"] in every})
    by = {k: n for k, n in by.items() if results.get(k, {}).get("how") not in ("memcheck", "sanitizers")}
    for name in every:
        every[name].update(cpu=seen.get(name, {}).get("cpu", 5), seconds=seen.get(name, {}).get("seconds", 5))
    todo = sorted((k for k in by if k in mutants and not results.get(k, {}).get("confirmed") and re.search(args.only, f"{k} {mutants[k]['file']}") and
                   every[by[k]]["cpu"] <= args.longest), key=lambda k: every[by[k]]["cpu"])
    began = time.monotonic()

    def took(k, r):
        how, took, _ = r
        results.update(load("results.json", {}))
        results[k] = dict(results.get(k, dict(passed=[], cpu=0)), by=by[k] if how else None, how=how, confirmed=how is not None, cpu=round(took, 2))
        if not how:
            print(f"{k} {mutants[k]['file']}:{mutants[k]['line']}: {by[k]} passes, it is open again", flush=True)
        save("results.json", results)

    def items():
        for k in todo:
            if args.within and time.monotonic() - began > args.within:
                return
            yield k

    workers(args.jobs, items(), lambda k: run_test(every[by[k]], {"TANGERE_MUTANT": k}, every[by[k]]["seconds"]), took)
    print(f"{sum(bool(results.get(k, {}).get('confirmed')) for k in by)} of {len(by)} confirmed")


class Order:
    """Which test next: the one of least time for its chance to kill, as far as kills so far tell (of that file, that part, at all)."""

    def __init__(self, mutants, results):
        self.tried, self.hit = collections.Counter(), collections.Counter()
        for k, r in results.items():
            if k in mutants:
                self.learn(mutants[k], r)

    @staticmethod
    def places(m, name):
        return (m["file"], name), (m["part"], name), ("", name)

    def learn(self, m, r):
        for name in r["passed"] + ([r["by"]] if r["by"] else []):
            for at in self.places(m, name):
                self.tried[at] += 1
                self.hit[at] += name == r["by"]

    def chance(self, m, name, folder, few):
        same = m["file"].split("/")[1] == folder or pathlib.Path(m["file"]).stem in name
        guess = (0.3 if same else 0.04) + 0.3 * few
        for at in reversed(self.places(m, name)):   # each in turn is what the narrower one starts from
            guess = (self.hit[at] + 2 * guess) / (self.tried[at] + 2)
        return guess


def run(args):
    every, seen, results = tests(), load("reach.json", {}), load("results.json", {})
    mutants = {str(m["number"]): m for m in load("mutants.json", [])}
    equal = equivalents(mutants)
    order = Order(mutants, results)
    began = time.monotonic()
    for name in every:
        every[name].update(cpu=seen.get(name, {}).get("cpu", 0), seconds=seen.get(name, {}).get("seconds", 0))
    those = {k: [n for n, s in seen.items() if s["passed"] and m["number"] in s["mutants"] and n in every] for k, m in mutants.items()}
    todo = [k for k, m in mutants.items() if re.search(args.only, f"{k} {m['part']} {m['file']}") and k not in equal and
            (results.get(k) is None or results[k]["by"] is None and set(those[k]) - set(results[k]["passed"]))]
    random.Random(args.seed).shuffle(todo)
    todo.sort(key=lambda k: k in results)
    todo = todo[:args.count or len(todo)]

    def items():
        for k in todo:
            if args.within and time.monotonic() - began > args.within:
                return
            before = results.get(k, {}).get("passed", [])
            chance = {n: order.chance(mutants[k], n, every[n]["folder"], len(seen[n]["mutants"]) < 20) for n in those[k]}
            yield k, sorted((n for n in those[k] if n not in before), key=lambda n: (0.02 + seen[n]["cpu"]) / chance[n])

    def work(item):
        k, names = item
        spent, passed = 0.0, []
        for name in names:
            cost = every[name]["cpu"]
            late = args.within and time.monotonic() - began + every[name]["seconds"] > args.within
            if cost > args.longest or spent + cost > args.seconds or late:
                continue
            how, took, _ = run_test(every[name], {"TANGERE_MUTANT": k}, every[name]["seconds"])
            spent += took
            if how:
                return dict(by=name, how=how, passed=passed, cpu=spent)
            passed.append(name)
        return dict(by=None, how=None, passed=passed, cpu=spent)

    def took(item, r):
        k, m = item[0], mutants[item[0]]
        order.learn(m, r)
        before = results.get(k, dict(passed=[], cpu=0))
        r["passed"], r["cpu"] = before["passed"] + r["passed"], round(before["cpu"] + r["cpu"], 2)
        results[k] = r
        left = len(those[k]) - len(r["passed"])
        print(f"{k} {m['file']}:{m['line']} {m['kind']}: {r['by'] and r['by'] + ' ' + r['how'] or 'LIVES' if r['by'] or not left else 'open'} "
              f"({len(those[k])} tests reach it, {len(r['passed'])} passed, {r['cpu']:.1f} s)", flush=True)
        save("results.json", results)

    workers(args.jobs, items(), work, took)


def again(args):
    """Tests that killed, without a mutant: one that fails now and then, or is slow beside others, has killed nothing. What it killed is open again."""
    every, seen, results = tests(), load("reach.json", {}), load("results.json", {})
    for name in every:
        every[name].update(cpu=seen.get(name, {}).get("cpu", 0), seconds=seen.get(name, {}).get("seconds", 0))
    names = sorted({r["by"] for r in results.values() if r["by"] and r["how"] not in ("memcheck", "sanitizers")} & set(every))

    def took(name, how):
        if how is None:
            return
        gone = [k for k, r in results.items() if r["by"] == name]
        print(f"{name}: {how} without a mutant; {len(gone)} are open again", flush=True)
        for k in gone:
            del results[k]
        save("results.json", results)

    workers(args.jobs, names, lambda n: run_test(every[n], {"TANGERE_MUTANT": "0"}, every[n]["seconds"])[0], took)
    print(f"{len(names)} tests that killed, run without a mutant")


def memcheck(args):
    """Mutants that no test kills, under valgrind's memcheck: reading or writing past an end, and memory that is lost, are what the sanitizers
    of make test-asan see. A test that is not clean without a mutant counts for nothing."""
    every, seen, results = tests(), load("reach.json", {}), load("results.json", {})
    mutants = {str(m["number"]): m for m in load("mutants.json", [])}
    equal = equivalents(mutants)
    tool = ["valgrind", "-q", "--error-exitcode=99", "--undef-value-errors=no", "--leak-check=full", "--errors-for-leak-kinds=definite"]
    under = lambda n: dict(every[n], command=[*tool, *every[n]["command"]], cpu=30 + 40 * seen[n]["cpu"])
    todo = [k for k in mutants if k in results and not results[k]["by"] and k not in equal and "memcheck" not in results[k] and
            re.search(args.only, f"{k} {mutants[k]['part']} {mutants[k]['file']} {mutants[k]['kind']}")]

    def work(k):
        those = sorted((s["cpu"], n) for n, s in seen.items() if s["passed"] and int(k) in s["mutants"] and n in every and
                       every[n]["command"][0] != "pytest" and s["cpu"] < args.longest)
        for _, n in those[:args.count or 6]:
            if run_test(under(n), {"TANGERE_MUTANT": k}, 100)[0] and run_test(under(n), {"TANGERE_MUTANT": "0"}, 100)[0] is None:
                return n
        return None

    def took(k, by):
        results[k] = dict(results[k], memcheck=True, **({"by": by, "how": "memcheck"} if by else {}))
        print(f"{k} {mutants[k]['file']}:{mutants[k]['line']} {mutants[k]['kind']}: {by}", flush=True)
        save("results.json", results)

    workers(args.jobs, todo, work, took)


SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g1", "-w"]


def engine():
    """{source: words of the command} of the engine's real build."""
    calls = json.loads((BUILD / "compile_commands.json").read_text())
    return {pathlib.Path(c["file"]).relative_to(TREE).as_posix(): c["command"].split() for c in calls if "tg_objects.dir" in c["command"]}


def sanitized_object(file):
    """That source compiled under the sanitizers, if it is not yet."""
    out = HOME / "sanitized" / f"{file.replace('/', '_')}.o"
    out.parent.mkdir(exist_ok=True)
    if not out.exists() or out.stat().st_mtime < (TREE / file).stat().st_mtime:
        words = engine()[file]
        part = out.with_suffix(f".{os.getpid()}")
        words[words.index("-o") + 1] = str(part)
        subprocess.run([words[0], *SANITIZERS, *words[1:]], cwd=BUILD, check=True)
        part.replace(out)
    return out


def placing():
    """Sources that place arrays in blocks or hand out scratch: under the sanitizers they mark what is between these (src/base/red_zone.h)."""
    return sorted(f for f in engine() if re.search(r"\btgi_place\(|^void \*tgi_stack_bytes", (TREE / f).read_text(), re.M))


def sanitized(file, test):
    """The test's program with the sources of that folder, which may be where what is wrong is used, and all that place arrays under the address
    and undefined-behaviour sanitizers; None: it is no program that is linked so."""
    program = pathlib.Path(test["command"][0]).name
    out = HOME / "sanitized" / f"{file.replace('/', '_')}-{program}"
    objects = [str(sanitized_object(f)) for f in sorted({*placing(), *(f for f in engine() if f.rpartition("/")[0] == file.rpartition("/")[0])})]
    link = subprocess.run(["ninja", "-t", "commands", f"test/{program}"], cwd=BUILD, capture_output=True, text=True).stdout.split("\n")
    line = next((c for c in reversed(link) if " -o test/" in c), "")
    if "src/libtangere.a" not in line:
        return None
    line = line.removeprefix(": && ").removesuffix(" && :").split()
    line[line.index("-o") + 1] = str(out)
    at = line.index("src/libtangere.a")   # before the archive, whose own objects are then not taken
    if not out.exists() or out.stat().st_mtime < (BUILD / test["command"][0]).stat().st_mtime:
        subprocess.run([line[0], *SANITIZERS[:2], *line[1:at], *objects, *line[at:]], cwd=BUILD, check=True)
    return [str(out), *test["command"][1:]]


def sanitize(args):
    """Mutants that no test kills, their own source under the sanitizers, as all of it is in make test-asan: what reads or writes past an end
    or loses memory is seen there. A test that is not clean without the mutant counts for nothing."""
    every, seen, results = tests(), load("reach.json", {}), load("results.json", {})
    mutants = {str(m["number"]): m for m in load("mutants.json", [])}
    equal = equivalents(mutants)
    todo = [k for k in mutants if not results.get(k, {}).get("by") and k not in equal and
            re.search(args.only, f"{k} {mutants[k]['part']} {mutants[k]['file']} {mutants[k]['kind']}")]

    def work(k):
        those = sorted((s["cpu"], n) for n, s in seen.items() if s["passed"] and int(k) in s["mutants"] and n in every and s["cpu"] < args.longest and
                       every[n]["command"][0] != "pytest" and not n.endswith("_cx") and every[n]["folder"] != "cli")
        for cpu, n in those[:args.count or 3]:
            command = sanitized(mutants[k]["file"], every[n])
            under = dict(every[n], command=command, cpu=30 + 10 * cpu)
            if command and run_test(under, {"TANGERE_MUTANT": k}, 100)[0] and run_test(under, {"TANGERE_MUTANT": "0"}, 100)[0] is None:
                return n
        return None

    def took(k, by):
        if by:
            results[k] = dict(results.get(k, dict(passed=[], cpu=0)), by=by, how="sanitizers")
        print(f"{k} {mutants[k]['file']}:{mutants[k]['line']} {mutants[k]['kind']}: {by}", flush=True)
        save("results.json", dict(load("results.json", {}), **({k: results[k]} if by else {})))

    workers(args.jobs, todo, work, took)


def equivalents(mutants):
    """{number: reason} by tools/mutants_equivalent.txt: lines of 'file | kind | was | becomes | reason'. An entry that is of no mutant here
    says so; one that no line of the source has any more is an error."""
    out = {}
    for at, line in enumerate((ROOT / "tools" / "mutants_equivalent.txt").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        file, kind, was, becomes, reason = (w.strip() for w in line.split(" | "))
        path = ROOT / file
        if not path.exists() or was not in one_line(path.read_text()):
            sys.exit(f"tools/mutants_equivalent.txt:{at}: {file} has no '{was}'")
        for k, m in mutants.items():
            if (file, kind, was, becomes) == (m["file"], m["kind"], one_line(m["was"]), one_line(m["mutant"])):
                out[k] = reason
    return out


def one_line(text):
    return " ".join(text.split())


def reaching(k, every, seen):
    """Tests that reach mutant k, and how many tests have not told."""
    return {n for n, s in seen.items() if s["passed"] and int(k) in s["mutants"] and n in every}, len(set(every) - set(seen))


def word(r, equal, those, unknown):
    """Killed: a test failed. Equal: listed as no change of what is computed, with the reason. Live: each test that reaches it passed, or
    none reaches it. Open: some that reach it were not run, or tests were not asked what they reach."""
    if r is not None and r["by"]:
        return "killed"
    if equal:
        return "equal"
    return "live" if not unknown and those <= set(r["passed"] if r else []) else "open"


def table(args):
    mutants, results = {str(m["number"]): m for m in load("mutants.json", [])}, load("results.json", {})
    equal, every, seen = equivalents(mutants), tests(), load("reach.json", {})
    ran = [(m, word(results.get(k), k in equal, *reaching(k, every, seen)), len(reaching(k, every, seen)[0]), results.get(k, {})) for k, m in mutants.items()]
    lines = ["| part | mutants | killed | equal | live | open | killed of those that are not equal |", "|---|---|---|---|---|---|---|"]
    for part in [p for p, _, _ in PARTS] + ["all"]:
        own = [w for m, w, _, _ in ran if part in (m["part"], "all")]
        n = [own.count(w) for w in ("killed", "equal", "live", "open")]
        lines.append(f"| {part} | {len(own)} | {' | '.join(map(str, n))} | {100 * n[0] / max(len(own) - n[1], 1):.1f} % |")
    lines += ["", "| place | change | was | becomes | state | tests that reach it, and passed |", "|---|---|---|---|---|---|"]
    cell = lambda text: one_line(text).replace("|", "\\|")
    for m, w, those, r in sorted(ran, key=lambda x: (x[0]["file"], x[0]["line"])):
        if w in ("live", "open"):
            lines.append(f"| {m['number']} `{m['file']}:{m['line']}` | {cell(m['kind'])} | `{cell(m['was'])[:110]}` | `{cell(m['mutant'])[:110]}` | {w} | "
                         f"{those}, {len(r.get('passed', []))} |")
    print("\n".join(lines))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("step", choices=["make", "build", "reach", "run", "again", "memcheck", "renew", "table", "list", "check", "confirm", "sanitize"])
    p.add_argument("--count", type=int)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", default="")
    p.add_argument("--seconds", type=float, default=60, help="processor time for a mutant in this run")
    p.add_argument("--longest", type=float, default=1e9, help="run no test that takes longer, in seconds of the processor")
    p.add_argument("--within", type=float, default=0, help="end after so many seconds")
    p.add_argument("--jobs", type=int, default=2)
    args = p.parse_args()
    {"make": make, "build": lambda _: build(), "reach": reach, "run": run, "again": again, "memcheck": memcheck, "renew": renew, "table": table,
     "list": write_list, "check": check, "confirm": confirm, "sanitize": sanitize}[args.step](args)


if __name__ == "__main__":
    main()
