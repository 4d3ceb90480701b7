"""python -m tangere.examples [NAME] [--out FOLDER]"""

import argparse
import pathlib
import sys

from . import OUT, about, names, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tangere.examples", description="Examples; without a name, a list.")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--out", type=pathlib.Path, default=OUT, help="where the replay or picture goes (default: %(default)s)")
    asked = parser.parse_args()
    if asked.name in names():
        try:
            run(asked.name, asked.out)
        except ImportError as missing:
            sys.exit(f"{asked.name}: this example needs a package that is not installed ({missing})")
        except KeyboardInterrupt:
            sys.exit(130)
        return
    if asked.name is not None:
        print(f"there is no example '{asked.name}'; there are:", file=sys.stderr)
    for name in names():
        print(f"  python -m tangere.examples {name:12} {about(name)}")
    if asked.name is not None:
        sys.exit(1)


main()
