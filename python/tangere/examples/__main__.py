"""python -m tangere.examples [NAME]"""

import sys

from . import about, names, run


def main() -> None:
    if len(sys.argv) == 2 and sys.argv[1] in names():
        try:
            run(sys.argv[1])
        except ImportError as missing:
            sys.exit(f"{sys.argv[1]}: this example needs a package that is not installed ({missing})")
        return
    if len(sys.argv) > 1 and sys.argv[1] not in ("-h", "--help"):
        print(f"there is no example '{' '.join(sys.argv[1:])}'; there are:", file=sys.stderr)
    for name in names():
        print(f"  python -m tangere.examples {name:12} {about(name)}")
    if len(sys.argv) > 1 and sys.argv[1] not in ("-h", "--help"):
        sys.exit(1)


main()
