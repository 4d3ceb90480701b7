#!/usr/bin/env python3
"""tools/mutants_one.py MUTANTS TO: the test programs of MUTANTS/tree as two, TO/all and TO/all_cx, whose first word says which, and TO/tests.json,
the tests run by these. Some 250 programs have the library in each, and would not fit into what may be sent to another machine."""
import json
import pathlib
import re
import subprocess
import sys

HOME, TO = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
BUILD = HOME / "tree" / "build" / "release"
OWN = re.compile(r" [TDBW] (malloc|calloc|realloc|free|f?open|write|fsync|rename)$", re.M)   # it stands before the C library's: stays a program


def joined(name, objects, out):
    subprocess.run(["ld", "-r", "-o", out, *objects], cwd=BUILD, check=True)
    subprocess.run(["objcopy", "--redefine-sym", f"main=tgm_{name}", f"--keep-global-symbol=tgm_{name}", out], check=True)


def linked(word, names, libraries):
    table = "".join(f"int tgm_{n}(int, char **);\n" for n in names)
    rows = "".join(f'  {{"{n}", tgm_{n}}},\n' for n in names)
    (TO / f"{word}.c").write_text("#include <string.h>\n" + table + "static const struct { const char *name; int (*main)(int, char **); } all[] = {\n" + rows +
                                  "};\nint main(int argc, char **argv) {\n  for (unsigned i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)\n"
                                  "    if (strcmp(argv[1], all[i].name) == 0) return all[i].main(argc - 1, argv + 1);\n  return 126;\n}\n")
    subprocess.run(["cc", "-O2", "-o", TO / word, TO / f"{word}.c", *(TO / f"{n}.o" for n in names), *libraries], cwd=BUILD, check=True)
    subprocess.run(["strip", "-s", TO / word], check=True)


def main():
    TO.mkdir(parents=True, exist_ok=True)
    tests, ninja = json.loads((HOME / "tests.json").read_text()), (BUILD / "build.ninja").read_text()
    of, libraries = {}, {"all": [], "all_cx": []}
    for program in sorted({t["command"][0] for t in tests.values()} - {"pytest"}):
        name = pathlib.Path(program).name
        found = re.search(rf"^build (?:\S+ )*test/{re.escape(name)}: \S+ (.*?) \|.*\n(?:  .*\n)*?  LINK_LIBRARIES = (.*)\n", ninja, re.M)
        if not found or OWN.search(subprocess.run(["nm", *found[1].split()], cwd=BUILD, capture_output=True, text=True).stdout):
            continue
        joined(name, found[1].split(), TO / f"{name}.o")
        of[name] = "all_cx" if "tangere_cx" in found[2] else "all"
        libraries[of[name]] += [w for w in found[2].split() if w not in libraries[of[name]]]
    for word in libraries:
        linked(word, [n for n, w in of.items() if w == word], ["-Wl,--start-group", *libraries[word], "-Wl,--end-group"])
    for t in tests.values():
        name = pathlib.Path(t["command"][0]).name
        if name in of:
            t["command"] = [str(BUILD / "test" / of[name]), name, *t["command"][1:]]
    (TO / "tests.json").write_text(json.dumps(tests, indent=0))
    print(f"{len(of)} programs as two; {len({t['command'][0] for t in tests.values()}) - 3} others")


if __name__ == "__main__":
    main()
