"""What noisetop needs on a machine with many CPUs: start-up, memory, the cost of draining.

Run as root on the machine, or in one that is emulated:

    vng --run KERNEL --cpus 128 --memory 8G --exec 'python -m bench.scale'
"""

from __future__ import annotations

import argparse
import io
import resource
import time

from noisetop.counters.losses import LOSSES
from noisetop.live.feed import TracerFeed
from noisetop.live.output import Settings
from noisetop.live_outputs import load_output
from noisetop.machine import system
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

_KIB = 1024


def _memory_available_kib() -> int:
    lines = system.read_text(system.ROOT / "proc/meminfo").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def _cpu_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1000 * (used.ru_utime + used.ru_stime)


def measure(seconds: int) -> dict[str, float]:
    """Watches all CPUs but the first for some seconds; times in ms, of one CPU where it says so."""
    cpus = system.online_cpus()
    figures: dict[str, float] = {"CPUs": len(cpus)}
    free_kib, began_s, began_cpu_ms = _memory_available_kib(), time.monotonic(), _cpu_ms()
    with Tracer(Target(cpus[1:]), housekeeping=cpus[:1]) as tracer:
        figures["start ms"] = 1000 * (time.monotonic() - began_s)
        figures["start, own CPU ms"] = _cpu_ms() - began_cpu_ms
        figures["kernel memory MiB"] = (free_kib - _memory_available_kib()) / _KIB
        tracer.start_window()
        _drain(tracer, seconds, figures)
        _show(tracer, seconds, figures)
        lost = tracer.window_counters().of(LOSSES)
    figures["lost"] = lost.total
    figures["peak RSS MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB
    return figures


def _drain(tracer: Tracer, seconds: int, figures: dict[str, float]) -> None:
    """With nobody looking: only the drain thread works."""
    before_ms, began_s = _cpu_ms(), time.monotonic()
    time.sleep(seconds)
    elapsed_s = time.monotonic() - began_s
    figures["drain, own CPU ms/s"] = (_cpu_ms() - before_ms) / elapsed_s


def _show(tracer: Tracer, seconds: int, figures: dict[str, float]) -> None:
    """A plain live view, one block per second, into memory."""
    tracer.read()
    stopper = Stopper()
    events, before_ms, began_s = tracer.event_count, _cpu_ms(), time.monotonic()
    feed = TracerFeed(tracer, stopper, 1_000_000_000, count=seconds)
    load_output("plain").run(feed, io.StringIO(), Settings())
    elapsed_s = time.monotonic() - began_s
    figures["events/s"] = (tracer.event_count - events) / elapsed_s
    figures["live view, own CPU ms/s"] = (_cpu_ms() - before_ms) / elapsed_s
    stopper.close()


def main() -> None:
    """Prints the figures, one a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=5)
    for name, value in measure(parser.parse_args().seconds).items():
        print(f"{name:<26} {value:.1f}")


if __name__ == "__main__":
    main()
