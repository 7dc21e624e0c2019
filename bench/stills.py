"""Makes the picture of the dashboard in the README, from the real kernel; needs root.

    python bench/dashboard_picture.py --cpus 1 --seconds 20 docs/dashboard.svg

A busy loop of our own on each watched CPU is the victim. Press keys with --keys, as in ``down,i``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from pathlib import Path

from noisetop.live.feed import TracerFeed
from noisetop.machine import affinity
from noisetop.session.options import cpu_target
from noisetop.text.cpu_list import parse_cpu_list
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.tracer import Tracer
from noisetop.tui.app import Dashboard


def _victim(cpu: int, seconds: float) -> int:
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {cpu})
        end = time.monotonic() + seconds + 5  # ends by itself, whatever becomes of us
        while time.monotonic() < end:
            pass
        os._exit(0)
    return pid


async def _picture(app: Dashboard, args: argparse.Namespace) -> str:
    async with app.run_test(size=(args.columns, args.lines)) as pilot:
        while app.latest is None or app.latest.total.duration_ns < args.seconds * 1e9:
            await pilot.pause(0.2)
        for key in filter(None, args.keys.split(",")):
            await pilot.press(key)
        await pilot.pause()
        return app.export_screenshot(title="sudo noisetop -c " + args.cpus)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--cpus", default="1")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--columns", type=int, default=130)
    parser.add_argument("--lines", type=int, default=30)
    parser.add_argument("--keys", default="")
    args = parser.parse_args()
    target = cpu_target(parse_cpu_list(args.cpus))
    housekeeping = affinity.choose(target.cpus)
    victims = [_victim(cpu, args.seconds) for cpu in target.cpus]
    try:
        with Tracer(target, housekeeping=housekeeping) as tracer:
            tracer.start_window()
            feed = TracerFeed(tracer, Stopper(), 1_000_000_000, target.title)
            args.output.write_text(asyncio.run(_picture(Dashboard(feed), args)))
            tracer.stop_window()
    finally:
        for pid in victims:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
