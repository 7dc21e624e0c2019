"""Two recordings that are compared: one is shown, the other is at hand."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from noisetop.compare.comparison import Comparison, compare
from noisetop.compare.sample import block_length_ns, sample_of_recording
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.recording.open import open_recording


@dataclass
class Pair:
    """Before and after."""

    a: PlaybackFeed
    b: PlaybackFeed
    files: tuple[Path, Path]
    """Read once more for the comparison: it does not disturb who reads for the view."""
    shows_a: bool = False
    _comparing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def shown(self) -> PlaybackFeed:
        """The one that the view is over."""
        return self.a if self.shows_a else self.b

    @property
    def letter(self) -> str:
        """Of the one that is shown."""
        return "A" if self.shows_a else "B"

    def swap(self) -> None:
        """Shows the other one; nobody may wait for a sample meanwhile."""
        self.shows_a = not self.shows_a
        self.shown.reopen()

    def comparison(self) -> Comparison:
        """Of the whole recordings, as ``noisetop compare`` has it; made once, which may take
        seconds. Raises NoisetopError. From any thread."""
        with self._comparing:
            return self._comparison

    @cached_property
    def _comparison(self) -> Comparison:
        one, other = map(open_recording, self.files)
        block_ns = block_length_ns((one.duration_ns, other.duration_ns))
        return compare(
            sample_of_recording(self.files[0].name, one, block_ns),
            sample_of_recording(self.files[1].name, other, block_ns),
        )
