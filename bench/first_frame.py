"""``python -m bench.first_frame [--runs 10]``: from Enter in a shell in tmux to the first
frame of the dashboard, live and over a recording. Fails where the median is above a second."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.tmux import Tmux, in_tmux
from noisetop.machine.system import online_cpus

_LIMIT_S = 1.0
_PATIENCE_S = 30
_SIZE = 120, 40
_PROMPT = "ready>"
_FIRST = "q quit"
"""In the last line of the first frame."""
_RECORDING = Path("tests/data/noisy.noisetop")


def _until(tmux: Tmux, text: str) -> float:
    """When it is on the screen, in seconds. Asks every few ms, which is in the figure."""
    end = time.monotonic() + _PATIENCE_S
    while text not in tmux.screen():
        if time.monotonic() > end:
            sys.exit(f"'{text}' did not come:\n{tmux.screen()}")
        time.sleep(0.005)
    return time.monotonic()


def _first_frame_s(line: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        shell = ["env", f"PS1={_PROMPT}", "sh", "-i"]
        with in_tmux(Path(folder), shell, _SIZE) as tmux:
            _until(tmux, _PROMPT)
            tmux.command("send-keys", "-l", line)
            began = time.monotonic()
            tmux.press("Enter")
            return _until(tmux, _FIRST) - began


def _measured(name: str, line: str, runs: int) -> bool:
    _first_frame_s(line)  # so that files are in memory, as they are for who uses it
    found = sorted(_first_frame_s(line) for _ in range(runs))
    median = statistics.median(found)
    verdict = "within" if median <= _LIMIT_S else "NOT WITHIN"
    print(
        f"{name}: first frame after {median:.2f} s, from {found[0]:.2f} to {found[-1]:.2f} s in "
        f"{runs} runs: {verdict} {_LIMIT_S} s",
        flush=True,
    )
    return median <= _LIMIT_S


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[2].strip())
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    program = Path(sys.executable).with_name("noisetop")
    live = _measured("live", f"{program} -c {max(online_cpus())}", runs)
    played = _measured("recording", f"{program} view {_RECORDING}", runs)
    return 0 if live and played else 1


if __name__ == "__main__":
    sys.exit(main())
