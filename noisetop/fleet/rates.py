"""What each source took on each unit of a fleet: a host, a day of a host, a group of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from noisetop.events.origin import Origin
from noisetop.flat_tables.kinds import NOISE
from noisetop.fleet.engines import Engine
from noisetop.fleet.runs import Run
from noisetop.tables.histogram import BUCKETS, Counts

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

NS_PER_S = 1_000_000_000
Numbers = npt.NDArray[np.int64]
Table = npt.NDArray[np.float64]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Rates(Generic[K]):
    """A row for each unit, a column for each source."""

    units: list[K]
    wall_ns: Numbers
    """Of each unit: time of all CPUs together."""
    sources: list[str]
    count: Numbers
    net_ns: Numbers
    max_ns: Numbers

    @property
    def per_s(self) -> Table:
        """Time that sources took, ns per second and CPU."""
        rates: Table = self.net_ns / np.maximum(self.wall_ns, 1)[:, None] * NS_PER_S
        return rates

    def only(self, rows: Sequence[int]) -> Rates[K]:
        """Some of the units, with all sources."""
        at = np.array(rows, np.int64)
        return Rates(
            [self.units[i] for i in rows],
            self.wall_ns[at],
            self.sources,
            self.count[at],
            self.net_ns[at],
            self.max_ns[at],
        )


def merged(rates_of: Rates[Any], group_of: Callable[[Any], K]) -> tuple[Rates[K], Numbers]:
    """Sums over units that belong together, and on how many of them each source occurs."""
    groups: dict[K, int] = {}
    of_unit = [groups.setdefault(group_of(unit), len(groups)) for unit in rates_of.units]
    shape = len(groups), len(rates_of.sources)
    walls, seen = np.zeros(len(groups), np.int64), np.zeros(shape, np.int64)
    count, net_ns, max_ns = (np.zeros(shape, np.int64) for _ in range(3))
    np.add.at(walls, of_unit, rates_of.wall_ns)
    np.add.at(seen, of_unit, rates_of.count > 0)
    np.add.at(count, of_unit, rates_of.count)
    np.add.at(net_ns, of_unit, rates_of.net_ns)
    np.maximum.at(max_ns, of_unit, rates_of.max_ns)
    return Rates(list(groups), walls, rates_of.sources, count, net_ns, max_ns), seen


def numbered(runs: Iterable[Run], unit_of: Callable[[Run], K]) -> tuple[list[K], dict[str, int]]:
    """The units in the order of their first run, and the number of the unit of each run."""
    numbers: dict[K, int] = {}
    units = {run.run: numbers.setdefault(unit_of(run), len(numbers)) for run in runs}
    return list(numbers), units


def rates(
    engine: Engine, runs: Sequence[Run], unit_of: Callable[[Run], K], source: str = "source_group"
) -> Rates[K]:
    """Sums of external noise by unit and source; ``source``: the column that tells sources apart,
    the other one is ``source``. Raises NoisetopError."""
    import narwhals.stable.v2 as nw

    units, number_of = numbered(runs, unit_of)
    rows = engine.rows(
        _external(engine, "sources", number_of)
        .group_by("unit", source)
        .agg(
            # What ran on the idle CPU took nothing from anybody.
            (nw.col("count") - nw.col("idle_count")).sum().alias("events"),
            nw.col("net_ns").sum().alias("time_ns"),
            nw.col("max_ns").max().alias("longest_ns"),
        )
        .select("unit", source, "events", "time_ns", "longest_ns")
    )
    walls = np.zeros(len(units), np.int64)
    for run in runs:
        walls[number_of[run.run]] += run.wall_ns
    sources = sorted({name for _, name, count, *_ in rows if count})
    place = {name: at for at, name in enumerate(sources)}
    sums = np.zeros((3, len(units), len(sources)), np.int64)
    for unit, name, *figures in rows:
        if name in place:
            sums[:, unit, place[name]] = list(map(int, figures))
    return Rates(units, walls, sources, *sums)


def histograms(
    engine: Engine, runs: Sequence[Run], unit_of: Callable[[Run], K]
) -> dict[tuple[K, str], Counts]:
    """By unit and source: how many interruptions took how long, sums of those of the runs."""
    import narwhals.stable.v2 as nw

    units, number_of = numbered(runs, unit_of)
    rows = engine.rows(
        _external(engine, "buckets", number_of)
        .group_by("unit", "source_group", "bucket")
        .agg(nw.col("count").sum().alias("events"))
        .select("unit", "source_group", "bucket", "events")
    )
    found: dict[tuple[K, str], Counts] = {}
    for unit, source, bucket, count in rows:
        key = units[unit], source
        if key not in found:
            found[key] = np.zeros(BUCKETS, np.int64)
        if 0 <= bucket < BUCKETS:
            found[key][bucket] += int(count)
    return found


def squares(
    engine: Engine, runs: Sequence[Run], of: Rates[K], unit_of: Callable[[Run], K]
) -> Table:
    """Of the same rows and columns: sums of squared net times, ns², by the middles of buckets,
    times the number of CPUs that it may have interrupted at once: then that is one thing that
    happened by chance."""
    import narwhals.stable.v2 as nw

    _, number_of = numbered(runs, unit_of)
    middle = (nw.col("from_ns") + nw.col("below_ns")).cast(nw.Float64) / 2
    squared = (
        _external(engine, "buckets", number_of)
        .with_columns((nw.col("count").cast(nw.Float64) * middle * middle).alias("square"))
        .group_by("unit", "source_group")
        .agg(nw.col("square").sum())
        .select("unit", "source_group", "square")
    )
    # A row or more for each CPU of each run: to count CPUs that differ takes more memory.
    by_cpu = (
        _external(engine, "sources", number_of)
        .filter(nw.col("count") > nw.col("idle_count"))
        .group_by("unit", "source_group")
        .agg(nw.len().alias("cpus"))
        .select("unit", "source_group", "cpus")
    )
    place = {source: at for at, source in enumerate(of.sources)}
    runs_of = Counter(number_of.values())
    cpus_of = dict.fromkeys(runs_of, 0)
    for run in runs:
        cpus_of[number_of[run.run]] = max(cpus_of[number_of[run.run]], run.cpu_count)
    sums = np.zeros(of.net_ns.shape)
    for unit, source, square in engine.rows(squared):
        if source in place:
            sums[unit, place[source]] = square
    for unit, source, cpus in engine.rows(by_cpu):
        sums[unit, place[source]] *= min(cpus / runs_of[unit], cpus_of[unit])
    return sums


def _external(engine: Engine, table: str, number_of: dict[str, int]) -> nw.LazyFrame[Any]:
    """Rows of noise that is not self-inflicted, of these runs, with the number of their unit."""
    import narwhals.stable.v2 as nw

    return (
        engine.scan(table)
        .filter(
            nw.col("kind") == NOISE,
            nw.col("origin") != Origin.SELF.label,
            nw.col("aside") == "",
        )
        .join(engine.units(number_of), on="run", how="inner")
    )
