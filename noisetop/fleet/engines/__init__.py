"""What computes the sums over all rows of a fleet: one module each, with NAME and open_engine().

A question is put once, with narwhals; an engine says how the tables are read and rows come back.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast

from noisetop.errors import UsageError
from noisetop.fleet.folder import Fleet
from noisetop.fleet.stored import StoredFleet

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

DEFAULT_ENGINE = "duckdb"
_SEPARATOR = "://"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine may take."""

    threads: int = 1
    master: str = ""
    """Of a cluster; empty: this machine."""


AnyFleet = Fleet | StoredFleet


class Engine(Protocol):
    """The tables of some fleets, and what computes on them."""

    def text(self, url: str) -> str:
        """The content of a small file of a stored fleet. Raises NoisetopError."""

    def scan(self, table: str) -> nw.LazyFrame[Any]:
        """All rows of a table. Raises NoisetopError where there are none."""

    def units(self, unit_of: Mapping[str, int]) -> nw.LazyFrame[Any]:
        """A table of two columns: ``run``, and ``unit``, a number for each run."""

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        """Computes a frame. Raises NoisetopError where the engine cannot."""


class EngineModule(Protocol):
    """What a module in this package offers."""

    NAME: str

    def open_engine(
        self, fleets: Sequence[AnyFleet], settings: EngineSettings
    ) -> AbstractContextManager[Engine]:
        """An engine over these fleets. Raises UsageError where something is not installed."""


def engine_names() -> list[str]:
    """Names of the engines."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def open_engine(
    text: str, fleets: Sequence[AnyFleet], threads: int
) -> AbstractContextManager[Engine]:
    """The engine that ``duckdb``, ``spark`` or ``spark://MASTER`` names, over these fleets.

    Raises UsageError where there is no such engine, or something is not installed.
    """
    name, separator, master = text.partition(_SEPARATOR)
    if name not in engine_names() or bool(separator) != bool(master):
        raise UsageError(f"there is no engine '{text}': write duckdb, spark or spark://HOST:7077")
    if master and name == DEFAULT_ENGINE:
        raise UsageError(f"'{text}': DuckDB runs on this machine: write duckdb")
    if find_spec("narwhals") is None:
        raise UsageError("fleets take narwhals: pip install 'noisetop[fleet]'")
    module = cast(EngineModule, importlib.import_module(f"{__name__}.{name}"))
    return module.open_engine(fleets, EngineSettings(threads, master))
