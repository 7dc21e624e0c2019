"""What a process that runs a million commands does once, and what most of them do cheaply.

Sanitizers make large buffers and threads expensive. What is done once gives the same every time;
most mutants, not all, are read in small pieces and on one thread, and tested with few draws.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any
from unittest import mock

from noisetop import cli, exporters, input
from noisetop.compare import comparison, statistics, values
from noisetop.diagnosis import saved
from noisetop.recording import chrome_trace_file, prefetch

AS_SHIPPED = 17
"""One of so many mutants is read with a thread, and with the buffers and draws of the program."""
_PERMUTATIONS = 500
_PIECES = (257, 4096, 1 << 16)


def do_once() -> None:
    """For good: parsers, lists of modules, and the draws of a test are kept."""
    for module, name in ((cli, "command_parser"), (exporters, "exporters_by_suffix")):
        setattr(module, name, cache(getattr(module, name)))
    draws = statistics._resamples.__wrapped__
    setattr(statistics, "_resamples", lru_cache(maxsize=64)(draws))  # noqa: B010  mypy
    gc.collect()
    gc.freeze()


@contextmanager
def pieces_of(number: int) -> Iterator[None]:
    """As a mutant of this number is read."""
    if number % AS_SHIPPED == 0:
        yield
        return
    size = _PIECES[number % len(_PIECES)]
    with (
        mock.patch.object(prefetch, "ThreadPoolExecutor", _AtOnce),
        mock.patch.object(input, "_PIECE_BYTES", size),
        mock.patch.object(chrome_trace_file, "_READ_BYTES", size),
        mock.patch.object(saved, "PERMUTATIONS", _PERMUTATIONS),
        mock.patch.object(comparison, "PERMUTATIONS", _PERMUTATIONS),
        mock.patch.object(values, "PERMUTATIONS", _PERMUTATIONS),
    ):
        yield


@dataclass(frozen=True, slots=True)
class _Done:
    """What a call returned or raised."""

    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """As that of a future."""
        if self.error:
            raise self.error
        return self.value


class _AtOnce:
    """An executor that calls where it is asked: a part ahead, as a thread may be."""

    def __init__(self, workers: int, name: str) -> None:
        pass

    def __enter__(self) -> _AtOnce:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, call: Callable[..., Any], *arguments: Any) -> _Done:
        """Calls."""
        try:
            return _Done(call(*arguments))
        except BaseException as error:  # noqa: BLE001  result() raises it
            return _Done(error=error)
