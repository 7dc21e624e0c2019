"""What a live output declares: a way to show or to send the samples of a feed while they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TextIO

from noisetop.live.sample import Feed
from noisetop.live.snapshots import Snapshots


class Default(Enum):
    """When an output is chosen although no option asks for one."""

    TERMINAL = auto()
    """Where stdout is a terminal."""
    NO_TERMINAL = auto()
    """Where it is none, or an interval is given."""
    NEVER = auto()


@dataclass(frozen=True, slots=True)
class Option:
    """The option of ``noisetop top`` that asks for an output."""

    flag: str
    """``--json``"""
    help: str
    metavar: str = ""
    """Of its value; empty: it takes none."""

    @property
    def dest(self) -> str:
        """Its name among the parsed arguments."""
        return self.flag.lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says to the output that was chosen."""

    value: str = ""
    """Of its option, where that takes one."""
    snapshots: Snapshots | None = None
    """The flight recorder beside the view; None: there is none."""


@dataclass(frozen=True, slots=True)
class LiveOutput:
    """One output; the name of its module is its name."""

    run: Callable[[Feed, TextIO, Settings], None]
    """Shows the feed on the stream. Returns when the feed has ended, the reader of the stream is
    gone or, where it takes keys, the user quits or the feed was interrupted. Errors of the feed
    pass through; raises NoisetopError."""
    option: Option | None = None
    default: Default = Default.NEVER
    owns_terminal: bool = False
    """Whether nothing else may write to the terminal meanwhile."""
