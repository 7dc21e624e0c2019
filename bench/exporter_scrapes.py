"""``python -m bench.exporter_scrapes [SECONDS]``: how long scrapes take, and what they disturb.

First two scrapers ask at the same moments, once a second, in the format of Prometheus, while tasks
under ever new names take the watched CPU: each scrape is timed, and of the same period both must
read the same. Then the watched CPU only computes, and its interrupts are counted with scrapes and
without them, in turns: what a scrape adds is the difference. Scrapers and server share the other
CPU.
"""

from __future__ import annotations

import gzip
import http.client
import re
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from bench.exporter_load import (
    PORT,
    SPIN,
    STORM,
    end_cleanly,
    load,
    running_exporter,
    series_count,
    watched_and_other,
)
from bench.proc_interrupts import added, is_device, read_interrupts
from bench.verdict import Limit, conclude
from noisetop.machine.affinity import bind

_PROMETHEUS = {
    "Accept": "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
    "Accept-Encoding": "gzip",
}
_LONGEST_MS = 50
_MOST_SERIES = 2_000
_SCRAPERS = 2
_TURN_S, _TURNS, _SCRAPES_PER_S = 5, 12, 20
_ADDED_LIMIT = 0.1
"""Interrupts of the watched CPU for each scrape: one for every tenth would be seen."""


@dataclass(frozen=True, slots=True)
class Scraped:
    """One answer."""

    took_ms: float
    text: str

    @property
    def period(self) -> str:
        """Tells the answers about one period from those about another."""
        found = re.search(r"(?m)^noisetop_traced_seconds_total (\S+)$", self.text)
        return found[1] if found else ""


def scraped() -> Scraped:
    """As Prometheus does it, from the connection to the last byte."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    connection.request("GET", "/metrics", headers=_PROMETHEUS)
    body = connection.getresponse().read()
    connection.close()
    took_ms = (time.monotonic() - began) * 1e3
    return Scraped(took_ms, gzip.decompress(body).decode())


def pairs(seconds: int) -> list[tuple[Scraped, ...]]:
    """What two scrapers read at the same moments, once a second."""
    together = threading.Barrier(_SCRAPERS)

    def one(_: int) -> Scraped:
        together.wait()
        return scraped()

    found = []
    began = time.monotonic()
    with ThreadPoolExecutor(_SCRAPERS) as pool:
        for second in range(seconds):
            time.sleep(max(0.0, began + second - time.monotonic()))
            found.append(tuple(pool.map(one, range(_SCRAPERS))))
    return found


def limits_of(found: list[tuple[Scraped, ...]]) -> list[Limit]:
    """Of the times, the series and what scrapers saw."""
    took = np.array([one.took_ms for some in found for one in some])
    middle, high = np.percentile(took, [50, 99])
    print(
        f"{len(took)} scrapes: p50 {middle:.1f} ms, p99 {high:.1f} ms, longest {took.max():.1f} ms"
    )
    same = [some for some in found if len({one.period for one in some}) == 1 and some[0].period]
    print(f"{len(same)} of {len(found)} pairs are of the same period")
    differ = sum(len({one.text for one in some}) > 1 for some in same)
    return [
        Limit("longest scrape", float(took.max()), _LONGEST_MS, "ms"),
        Limit(
            "series", max(series_count(one.text) for some in found for one in some), _MOST_SERIES
        ),
        Limit("pairs of the same period that differ", differ if same else float("nan"), 0),
    ]


def interrupts_in_turns(cpu: int) -> list[Limit]:
    """Interrupts of the watched CPU that a scrape adds, with the error of the mean over turns."""
    scrapes = _SCRAPES_PER_S * _TURN_S
    more = [_turn(cpu) for _ in range(_TURNS)]
    rows = Counter[str]()
    for one in more:
        rows.update({name: count / scrapes / len(more) for name, count in one.items()})
    totals = np.array([one.total() for one in more]) / scrapes
    mean, error = float(totals.mean()), 2 * float(totals.std(ddof=1) / np.sqrt(len(more)))
    largest = sorted(rows.items(), key=lambda row: -abs(row[1]))[:4]
    by_row = ", ".join(f"{name} {count:+.3f}" for name, count in largest)
    print(f"interrupts of CPU {cpu} that a scrape adds: {mean:+.3f} ± {error:.3f}: {by_row}")
    return [Limit("interrupts that a scrape adds, with its error", mean + error, _ADDED_LIMIT)]


def _turn(cpu: int) -> Counter[str]:
    """Interrupts with scrapes less those without, by row."""
    found = _interrupts(cpu, _SCRAPES_PER_S)
    found.subtract(_interrupts(cpu, 0))
    return found


def _interrupts(cpu: int, per_s: int) -> Counter[str]:
    """Of one turn, with so many scrapes a second; by the kernel's own rows, as interrupts of
    devices belong to whoever uses them."""
    before, began = read_interrupts(cpu), time.monotonic()
    for number in range(per_s * _TURN_S):
        time.sleep(max(0.0, began + number / per_s - time.monotonic()))
        scraped()
    time.sleep(max(0.0, began + _TURN_S - time.monotonic()))
    rows = added(before, read_interrupts(cpu)).items()
    return Counter({name: count for name, count in rows if not is_device(name)})


def main() -> int:
    """0 where all limits hold."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    end_cleanly()
    cpu, other = watched_and_other()
    bind([other])
    with running_exporter(cpu):
        with load(STORM, cpu):
            scraped()
            limits = limits_of(pairs(seconds))
        with load(SPIN, cpu):
            limits += interrupts_in_turns(cpu)
    return conclude(limits)


if __name__ == "__main__":
    sys.exit(main())
