"""``python -m noisetop``."""

import sys

if not sys.flags.safe_path:
    # The interpreter puts the current folder first: root must not import what lies about there.
    del sys.path[0]

from noisetop.cli import main

main()
