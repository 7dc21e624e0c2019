"""What a live view knows of the flight recorder beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from noisetop.recording.moment import KeptMoment


class Snapshots(Protocol):
    """The last seconds in memory. All methods may be called from any thread."""

    on_message: Callable[[str], object] | None
    """Called with a line for the user, from any thread: which file was written, or why none was."""

    @property
    def keep_ns(self) -> int:
        """How much is kept, unless the bound in bytes is reached first."""

    def ask(self) -> None:
        """Has the last seconds written once the interval that runs has ended."""

    def kept(self) -> Sequence[KeptMoment] | None:
        """The worst moments so far, worst first; None: none are kept."""
