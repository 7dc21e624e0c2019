"""Runs one live output on a made-up feed, on the terminal that test_registry.py gives it."""

from __future__ import annotations

import fcntl
import sys
import termios

from noisetop.live.output import Settings
from noisetop.live_outputs import load_output
from tests.builders import FakeFeed, cpu, sample, source, summary


def main(name: str) -> None:
    fcntl.ioctl(1, termios.TIOCSCTTY, 0)
    busy = summary(cpu(1, source("irq", "36 disk")))
    feed = FakeFeed(sample(busy), sample(busy, ended="PID 5 (x) exited"))
    load_output(name).run(feed, sys.stdout, Settings())


if __name__ == "__main__":
    main(sys.argv[1])
