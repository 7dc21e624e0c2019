"""A spinning thread on each watched CPU beside the flight recorder: the gaps that it sees."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import numpy as np

from noisetop.flight_recorder.detectors import SeenGap
from noisetop.probe.clock import fit_clock
from noisetop.probe.sampler import ClockPair, SpinProcess, clock_pair

_RATE_PROBE_S = 0.02
_LEAD_NS = 20_000_000
_LONGEST_NS = 10 * 365 * 24 * 3600 * 1_000_000_000
_PAIRS = 64
"""Of the two clocks that are kept: a gap lies between the last ones."""


@dataclass(slots=True)
class GapProbe:
    """A context manager: the threads are ready; begin() lets them spin."""

    cpus: tuple[int, ...]
    threshold_ns: int
    """Shorter gaps are not looked at."""
    notice: Callable[[str], None]
    _process: SpinProcess = field(init=False)
    _pairs: deque[ClockPair] = field(default_factory=lambda: deque(maxlen=_PAIRS))
    _seen: list[int] = field(default_factory=list)
    """Gaps of each thread that were returned."""

    def __enter__(self) -> Self:
        self._process = SpinProcess(self.cpus).__enter__()
        self._seen = [0] * len(self.cpus)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.close()

    def begin(self) -> None:
        """Lets them spin until the end of the block."""
        first = clock_pair()
        time.sleep(_RATE_PROBE_S)
        second = clock_pair()
        self._pairs += [first, second]
        rate = (second.before_ticks - first.before_ticks) / (second.ns - first.ns)
        begin = second.after_ticks + round(_LEAD_NS * rate)
        threshold = round(self.threshold_ns * rate)
        self._process.begin(begin, begin + round(_LONGEST_NS * rate), threshold, threshold)

    def found(self) -> Iterator[SeenGap]:
        """Gaps since the last call, in the order of the CPUs."""
        self._pairs.append(clock_pair())
        clock = fit_clock(self._pairs)
        for number, cpu in enumerate(self.cpus):
            gaps = self._process.gaps_so_far(number, self._seen[number])
            before, self._seen[number] = self._seen[number], self._seen[number] + len(gaps)
            if before < self._process.capacity <= self._seen[number]:
                self.notice(f"CPU {cpu}: no room for further gaps: start again with a longer one")
            starts, ends = clock.to_ns(gaps[:, 0]), clock.to_ns(gaps[:, 1])
            for start_ns, end_ns in np.stack([starts, ends], axis=1).tolist():
                yield SeenGap(cpu, start_ns, end_ns)
