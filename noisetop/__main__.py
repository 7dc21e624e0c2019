"""Where the program starts: ``noisetop`` and ``python -m noisetop``."""

import signal
import sys


def main() -> None:
    """Entry point of the ``noisetop`` command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # While modules are imported Ctrl-C ends the process, without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from noisetop.cli import main

    main()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The interpreter puts the current folder first: root must not import what lies about there.
        del sys.path[0]
    main()
