"""``python -m bench.record_for_stills FILE``: records what the pictures of README show, as root:
a spinning program whose sibling thread unmaps memory on another CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.kernel.test_stories import of_process, undisturbed

_DURATION = "2s"


def main(path: Path) -> None:
    """Entry point."""
    program = Path(sys.executable).with_name("noisetop")
    with undisturbed("munmap:500:0") as load:
        target = of_process(load.pid)
        options = [*target, "--stacks", "-d", _DURATION, "--force", "-o", str(path)]
        subprocess.run([program, "record", *options], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
