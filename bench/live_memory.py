"""``python -m bench.live_memory --minutes 60``: the memory of the dashboard in tmux, the most of
every minute, with all that it keeps of the past full. Fails where it grows. With ``--storm`` tasks
under ever new names take the watched CPU."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bench.exporter_load import STORM, end_cleanly, load, watched_and_other
from bench.process import rss_kib
from bench.tmux import in_tmux
from noisetop.live.noise_columns import KEPT

_SIZE = 200, 50
_FASTEST = ("+", "+")
"""Keys: five samples a second, so that an hour of columns is full after twelve minutes."""
_PER_MINUTE = 300
_FULL_AFTER = KEPT / _PER_MINUTE + 1
"""Minutes until the scroll-back and the columns of the heat map are full."""
_MOST_GROWTH = 0.01
"""Of the memory, from the first third after it is full to the last."""


def _most_in_a_minute(pid: int) -> int:
    """KiB. It is looked at every second: once a minute the dashboard gives back what it does not
    use, and a look once a minute may come before that or after."""
    end, most = time.monotonic() + 60, 0
    while time.monotonic() < end:
        time.sleep(1)
        most = max(most, rss_kib(pid))
    return most


def _course(minutes: int, *, storm: bool) -> list[int]:
    """KiB, the most of each minute."""
    program, (cpu, _) = Path(sys.executable).with_name("noisetop"), watched_and_other()
    argv = [program, "-c", str(cpu)]
    found = []
    print("minute,rss_kib", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tmux = stack.enter_context(in_tmux(folder, argv, _SIZE))
        time.sleep(5)
        if storm:
            stack.enter_context(load(STORM, cpu))
        for key in _FASTEST:
            tmux.press(key)
        for minute in range(1, minutes + 1):
            found.append(_most_in_a_minute(tmux.pid))
            print(f"{minute},{found[-1]}", flush=True)
        last = tmux.screen()
    print(last)
    return found


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[2].strip())
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--storm", action="store_true", help="beside tasks under ever new names")
    args = parser.parse_args()
    end_cleanly()
    found = np.array(_course(args.minutes, storm=args.storm)[int(_FULL_AFTER) :])
    if len(found) < 6:
        print(f"no verdict: all is full after {_FULL_AFTER:.0f} minutes; give --minutes 60")
        return 1
    third = len(found) // 3
    first, last = found[:third].mean(), found[-third:].mean()
    growth = last / first - 1
    verdict = "flat" if growth <= _MOST_GROWTH else "GROWS"
    print(f"full: {first:.0f} KiB, at the end {last:.0f} KiB, {100 * growth:+.2f} %: {verdict}")
    return 0 if growth <= _MOST_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
