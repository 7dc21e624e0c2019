"""Spark: on a cluster, or with threads of its own on this machine."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from noisetop.errors import NoisetopError, UsageError
from noisetop.fleet.engines import AnyFleet, EngineSettings
from noisetop.fleet.folder import Fleet
from noisetop.fleet.stored import StoredFleet

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

NAME = "spark"
_READING = "Spark cannot read the tables"
_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+(,[\w.-]+:\d+)*")
_PATTERN = re.compile(r"([\\*?\[\]{}])")
"""What has a meaning in the names that Spark reads."""


class SparkEngine:
    """The folders of some fleets, which every worker sees under the same name."""

    def __init__(self, fleets: Sequence[AnyFleet], session: Any) -> None:
        self._fleets = fleets
        self._session = session

    def scan(self, table: str) -> nw.LazyFrame[Any]:
        """All rows of a table. Raises NoisetopError where there are none."""
        local = [fleet for fleet in self._fleets if isinstance(fleet, Fleet)]
        folders = [fleet.path.resolve() / table for fleet in local if fleet.files(table)]
        stored = [one.folder(table) for one in self._fleets if isinstance(one, StoredFleet)]
        if not folders and not stored:
            found = ", ".join(str(fleet.path) for fleet in local)
            raise NoisetopError(f"{found} holds no {table}: noisetop export FILE -o DIR/")
        names = [_escaped(one) for one in (*(f"file://{folder}" for folder in folders), *stored)]
        with _told(_READING):
            # The names of folders say nothing that is not in the rows.
            read = self._session.read.option("recursiveFileLookup", "true")
            return _lazy(read.parquet(*names))

    def text(self, url: str) -> str:
        """The content of a small file of a stored fleet. Raises NoisetopError."""
        with _told(_READING):
            return "\n".join(
                str(row[0]) for row in self._session.read.text(_escaped(url)).collect()
            )

    def units(self, unit_of: Mapping[str, int]) -> nw.LazyFrame[Any]:
        """A table of two columns: ``run``, and ``unit``, a number for each run."""
        rows = list(unit_of.items())
        return _lazy(self._session.createDataFrame(rows, "run string, unit bigint"))

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        """Computes a frame. Raises NoisetopError where Spark cannot."""
        with _told(_READING):
            return [tuple(row) for row in frame.to_native().collect()]


def _escaped(name: str) -> str:
    return _PATTERN.sub(r"\\\1", name)


def _lazy(frame: Any) -> nw.LazyFrame[Any]:
    import narwhals.stable.v2 as nw

    lazy: nw.LazyFrame[Any] = nw.from_native(frame)
    return lazy


@contextmanager
def _told(what: str) -> Iterator[None]:
    """An error of Spark becomes one line that begins with ``what``."""
    from pyspark.errors import PySparkException

    # What Java raises, before Spark is there to translate it.
    of_java: type[Exception] = import_module("py4j.protocol").Py4JError
    try:
        yield
    except (PySparkException, of_java) as error:
        lines = str(error).strip().splitlines()
        # Those of Java have their message below a line about the call.
        line = next((one for one in lines if "Exception: " in one), lines[0] if lines else "")
        raise NoisetopError(f"{what}: {line.removeprefix(': ')}") from None


def missing() -> str:
    """What Spark lacks on this machine and what to type; empty: nothing."""
    if find_spec("pyspark") is None:
        return "Spark takes pyspark: pip install 'noisetop[spark]'"
    home = os.environ.get("JAVA_HOME", "")
    if not shutil.which("java") and not shutil.which("java", path=f"{home}/bin"):
        return "Spark takes Java 17 or newer: install one, as openjdk-17-jre-headless"
    return ""


def master_of(text: str, threads: int) -> str:
    """The master as Spark writes it: of a cluster of its own, ``yarn``, ``local-cluster[2,1,768]``,
    empty for this machine."""
    if not text:
        return f"local[{threads}]"
    return f"spark://{text}" if _HOST_AND_PORT.fullmatch(text) else text


@contextmanager
def open_engine(fleets: Sequence[AnyFleet], settings: EngineSettings) -> Iterator[SparkEngine]:
    """An engine over these fleets. Raises UsageError where pyspark or Java is not installed."""
    if lack := missing():
        raise UsageError(lack)
    from pyspark.sql import SparkSession

    master = master_of(settings.master, settings.threads)
    builder = SparkSession.builder.master(master).appName("noisetop fleet")
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    with _told(f"Spark does not start with master {master}"):
        session = builder.getOrCreate()
    try:
        with _told(_READING):
            yield SparkEngine(fleets, session)
    finally:
        session.stop()
