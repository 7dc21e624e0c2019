"""The line at the top: what is watched, and which period the tables tell of."""

from __future__ import annotations

from noisetop.live import Sample
from noisetop.sanitize import printable
from noisetop.tui.text_line import TextLine
from noisetop.units import format_ns


class HeadLine(TextLine):
    """``noisetop  CPUs 2-3  since start 00:01:23``."""

    def show_waiting(self, title: str, interval_ns: int) -> None:
        """Before the first sample of a period."""
        span = "second" if interval_ns == 1_000_000_000 else format_ns(interval_ns)
        self.show(f"noisetop  {printable(title)}  waiting for the first {span}")

    def show_sample(
        self,
        title: str,
        latest: Sample,
        shown: Sample,
        *,
        since: str,
        last_only: bool,
        paused: bool,
    ) -> None:
        """What the tables show is ``shown``; time goes on with ``latest``."""
        parts = ["noisetop", printable(title)]
        if last_only:
            parts.append(f"last {format_ns(shown.interval.duration_ns)}")
        else:
            parts.append(f"since {since} {clock(latest.total.duration_ns)}")
        if paused:
            parts.append(f"PAUSED at {clock(shown.total.duration_ns)}")
        if latest.ended:
            parts.append(f"ENDED: {printable(latest.ended)}")
        self.show("  ".join(parts))


def clock(duration_ns: int) -> str:
    """Hours, minutes and seconds: ``00:01:23``."""
    minutes, seconds = divmod(duration_ns // 1_000_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}"
