"""What the whole program costs with its dashboard on the real kernel: first frame and CPU time.

    sudo .venv/bin/python bench/dashboard_live.py [SECONDS]

Watches the last CPU from a pseudo-terminal of 200 by 50, at one sample a second.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("noisetop")
COLUMNS, LINES = 200, 50
SETTLE_S = 5
FIRST_WORDS = b"noisetop"


def read_for(master: int, seconds: float, until: bytes = b"") -> bool:
    """Takes what the program writes; whether it wrote ``until``, which ends the wait."""
    seen = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([master], [], [], 0.05)[0]:
            seen = seen[-100:] + os.read(master, 65536)
        if until and until in seen:
            return True
    return False


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process so far."""
    ticks = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main(seconds: float) -> None:
    """Measures once and prints two lines."""
    cpu = max(os.sched_getaffinity(0))
    began = time.monotonic()
    pid, master = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(PROGRAM, [str(PROGRAM), "-c", str(cpu)])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    read_for(master, SETTLE_S, FIRST_WORDS)
    print(f"first frame after {time.monotonic() - began:.2f} s")
    read_for(master, SETTLE_S)
    used, since = cpu_seconds(pid), time.monotonic()
    read_for(master, seconds)
    share = (cpu_seconds(pid) - used) / (time.monotonic() - since)
    print(f"{100 * share:.2f} % of one CPU over {seconds:.0f} s")
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30)
