"""``python -m bench.exporter_memory MINUTES``: whether the exporter's memory is flat.

It is scraped while tasks under ever new names take the CPU that it watches. Prints its memory every
minute and at the end whether the last third of the time needed more than the second one. With
``--starved`` it competes for its CPU with programs that take nine tenths of it, and two tasks that
wake each other make more records than it can read then: what does not fit is lost and counted, and
the peak stays below what the unit allows.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from bench.exporter_load import (
    SPIN,
    STORM,
    TURNS,
    end_cleanly,
    load,
    lost_records,
    running_exporter,
    scrape,
    series_count,
    watched_and_other,
)
from bench.verdict import Limit, conclude

_EVERY_S = 5
_COMPETITORS = 9
_GROWTH = 1.05
"""Of the mean of the last third against that of the second one."""
UNIT = Path(__file__).parents[1] / "packaging/systemd/noisetop-exporter.service"


def unit_limit_mib() -> int:
    """What the unit allows."""
    found = re.search(r"(?m)^MemoryMax=(\d+)M$", UNIT.read_text())
    assert found
    return int(found[1])


def memory_mib(pid: int, what: str) -> float:
    """``VmRSS``, or at most so far ``VmHWM``."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(rf"{what}:\s+(\d+)", status)[0]) / 1024


def limits_of(rows: list[float], peak_mib: float) -> list[Limit]:
    """Of memory in equal steps of time."""
    third = len(rows) // 3
    second, last = rows[third : 2 * third], rows[len(rows) - third :]
    growth = sum(last) / max(sum(second), 1e-9) if third else float("nan")
    return [
        Limit("last third against the second one", growth, _GROWTH),
        Limit("peak", peak_mib, unit_limit_mib(), "MiB"),
    ]


def watch(pid: int, minutes: float) -> list[float]:
    """Memory in MiB every few seconds; a line for each minute."""
    print("minute  RSS MiB  peak MiB  series  scrape ms  lost", flush=True)
    rows: list[float] = []
    began, told = time.monotonic(), 0
    while (passed_s := time.monotonic() - began) < minutes * 60:
        time.sleep(max(0.0, _EVERY_S * (len(rows) + 1) - passed_s))
        asked = time.monotonic()
        text = scrape()
        took_ms = (time.monotonic() - asked) * 1e3
        rows.append(memory_mib(pid, "VmRSS"))
        minute = int((time.monotonic() - began + 0.5) // 60)
        if minute > told:
            told, peak = minute, memory_mib(pid, "VmHWM")
            print(
                f"{minute:6}  {rows[-1]:7.1f}  {peak:8.1f}  {series_count(text):6}  "
                f"{took_ms:9.1f}  {lost_records(text)}",
                flush=True,
            )
    return rows


def main() -> int:
    """0 where it is flat."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("minutes", type=float)
    parser.add_argument("--starved", action="store_true", help="with nine competitors for its CPU")
    args = parser.parse_args()
    end_cleanly()
    cpu, other = watched_and_other()
    with ExitStack() as stack:
        pid = stack.enter_context(running_exporter(cpu))
        stack.enter_context(load(STORM, cpu))
        if args.starved:
            # Who looks is not starved, so that it looks in time.
            policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(0, policy, os.sched_param(1))
            stack.enter_context(load(SPIN, other, count=_COMPETITORS))
            stack.enter_context(load(TURNS, cpu))
        rows = watch(pid, args.minutes)
        limits = limits_of(rows, memory_mib(pid, "VmHWM"))
    # What is starved is looked at in the middle of a burst or between two: only the peak tells.
    return conclude(limits[1:] if args.starved else limits)


if __name__ == "__main__":
    sys.exit(main())
