"""Made-up recordings whose noise is known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noisetop.compare.sample import Sample, block_length_ns, sample_of_recording
from noisetop.events.interruption import INTERRUPTION, Interruptions, Source
from noisetop.recording.recording import Recording

START_NS = 10**12
SECOND_NS = 1_000_000_000
SOURCES = [
    Source(("timer", "local_timer", "tick_nohz_handler")),
    Source(("irq", "36 virtio1-req.0")),
    Source(("softirq", "RCU")),
    Source(("thread", "kworker/1:1")),
    Source(("ipi", "reschedule")),
]
TICK = 0


def recording(
    seconds: int, seed: int, *, longer: float = 1.0, more: int = 0, source: int = TICK
) -> Recording:
    """A tick of 250 Hz and four sources at random moments; ``source`` takes ``longer`` times as
    long, and occurs ``more`` times per second more often."""
    rng = np.random.default_rng(seed)
    span = seconds * SECOND_NS
    tables = [_events(TICK, np.arange(0, span, 4_000_000), 1_600, 0.2, rng)]
    for number, (rate, mean) in enumerate([(40, 3_000), (80, 900), (15, 20_000), (200, 600)], 1):
        moments = rng.integers(0, span, rng.poisson(rate * seconds))
        tables.append(_events(number, moments, mean, 0.5, rng))
    if more:
        tables.append(_events(source, rng.integers(0, span, more * seconds), 1_600, 0.2, rng))
    table = np.concatenate(tables)
    mine = table["source"] == source
    table["net_ns"][mine] = np.rint(table["net_ns"][mine] * longer).astype(np.uint64)
    table["gross_ns"] = table["net_ns"]
    table = table[table["start_ns"] + table["gross_ns"] <= START_NS + span]
    table = table[np.argsort(table["start_ns"])]

    def chunks() -> Iterator[Interruptions]:
        yield from np.array_split(table, 7)

    return Recording({}, (1,), START_NS, START_NS + span, SOURCES, chunks)


def _events(
    source: int,
    moments: np.ndarray[tuple[int], np.dtype[np.int64]],
    mean_ns: float,
    spread: float,
    rng: np.random.Generator,
) -> Interruptions:
    table = np.zeros(len(moments), INTERRUPTION)
    table["start_ns"] = START_NS + moments
    net = mean_ns * np.exp(rng.normal(0, spread, len(moments)))
    table["net_ns"] = np.rint(net).astype(np.uint64)
    table["source"] = source
    table["victim_tid"] = 4711
    return table


def sample(one: Recording, name: str = "A") -> Sample:
    return sample_of_recording(name, one, block_length_ns([one.duration_ns]))
