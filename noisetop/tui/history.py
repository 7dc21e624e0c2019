"""The noise of each CPU in the latest intervals, as a row of small bars."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from noisetop.live.noise_columns import NoiseColumn, noise_column
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
        if interval.duration_ns > 0:
            self.add_column(noise_column(interval))

    def add_column(self, column: NoiseColumn) -> None:
        """The same, of an interval that was looked at before."""
        shares = {cpu: cell.share for cpu, cell in column.cells.items()}
        for cpu, share in shares.items():
            self._of(cpu).append(share)
        self._of(None).append(sum(shares.values()) / max(len(shares), 1))
        self._worst.append(column.worst)

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

    def shares(self, cpu: int | None, width: int) -> list[float]:
        """What the bars stand for, the newest last; fewer than ``width`` at the beginning."""
        return list(self._of(cpu))[-width:]

    def _of(self, cpu: int | None) -> deque[float]:
        if cpu not in self._shares:
            self._shares[cpu] = deque(maxlen=LENGTH)
        return self._shares[cpu]


def _bar(share: float, scale: float) -> str:
    if share <= 0:
        return NO_NOISE
    return _BARS[min(int(share / scale * len(_BARS)), len(_BARS) - 1)]
