"""The noise of each CPU in the latest intervals, as a row of small bars."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from noisetop.summary.summary import Summary

LENGTH = 120
_BARS = "▁▂▃▄▅▆▇█"
NO_NOISE = "·"


@dataclass(slots=True)
class History:
    """One scale for all CPUs, so that their bars can be compared: a full one is the worst shown.

    Bars stand for the share of an interval that was noise, so intervals of any length compare.
    """

    _shares: dict[int | None, deque[float]] = field(default_factory=dict)
    _worst: deque[float] = field(default_factory=lambda: deque(maxlen=LENGTH))

    def add(self, interval: Summary) -> None:
        """One interval more."""
        duration_ns = interval.duration_ns
        if duration_ns <= 0:
            return
        worst = 0.0
        for cpu in interval.cpus:
            share = cpu.external_ns / duration_ns
            worst = max(worst, share)
            self._of(cpu.cpu).append(share)
        everywhere = (
            sum(cpu.external_ns for cpu in interval.cpus) / duration_ns / max(len(interval.cpus), 1)
        )
        self._of(None).append(everywhere)
        self._worst.append(worst)

    def clear(self) -> None:
        """Forgets all intervals."""
        self._shares.clear()
        self._worst.clear()

    def copy(self) -> History:
        """The bars as they are now, for a view that stands still."""
        shares = {cpu: deque(old, maxlen=LENGTH) for cpu, old in self._shares.items()}
        return History(shares, deque(self._worst, maxlen=LENGTH))

    def bars(self, cpu: int | None, width: int) -> str:
        """The latest ``width`` intervals of one CPU, None: of all; the newest at the right."""
        shares = list(self._of(cpu))[-width:]
        scale = max(list(self._worst)[-width:], default=0.0)
        return "".join(_bar(share, scale) for share in shares).rjust(width)

    def _of(self, cpu: int | None) -> deque[float]:
        if cpu not in self._shares:
            self._shares[cpu] = deque(maxlen=LENGTH)
        return self._shares[cpu]


def _bar(share: float, scale: float) -> str:
    if share <= 0:
        return NO_NOISE
    return _BARS[min(int(share / scale * len(_BARS)), len(_BARS) - 1)]
