"""The program `onnxtxt`: the script of this name, and `python -m onnxtxt`."""

import signal
import sys

from onnxtxt._native import _main


def main() -> int:
    """Runs the program with the arguments of the process. Returns its exit code."""
    # The program ends at Ctrl-C, wherever it is; Python would wait until it is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _main(["onnxtxt", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
