"""``python -m bench.parquet [MILLIONS]``: a large recording as Parquet: time, memory, sums.

The sums of the table are compared with those of ``report --json`` of the same recording.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import duckdb

from bench.made_up_recording import Size, write_made_up
from bench.run_once import run_once
from bench.verdict import Limit, conclude

_LONGEST_S, _MOST_GIB = 20, 1
_SUMS = """
SELECT cpu, source, origin, count(*), sum(net_ns) FILTER (kind = 'noise')
FROM read_parquet(?) WHERE kind <> 'side' GROUP BY ALL
"""
Sums = dict[tuple[int, str, str], tuple[int, int]]
"""Interruptions and their net time in ns, by CPU, source and origin."""


def sums_of_table(path: Path) -> Sums:
    """By DuckDB, from the rows of events."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        rows = connection.execute(_SUMS, [str(path)]).fetchall()
    return {(cpu, source, origin): (n, int(ns or 0)) for cpu, source, origin, n, ns in rows}


def sums_of_report(path: Path) -> Sums:
    """By the report's JSON."""
    sums: Sums = {}
    for cpu, about in json.loads(path.read_text())["cpus"].items():
        for one in about["sources"]:
            key = int(cpu), " › ".join(one["path"]), one["origin"]
            count, net_ns = sums.get(key, (0, 0))
            sums[key] = count + one["count"], net_ns + one["net_ns"]
    return sums


def main() -> int:
    """0 where all limits hold."""
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    program = (sys.executable, "-m", "noisetop")
    with tempfile.TemporaryDirectory() as folder:
        recording, table, said = (Path(folder) / one for one in ("a.noisetop", "a.parquet", "said"))
        records = write_made_up(recording, Size(records=round(millions * 1e6)))
        took = run_once((*program, "export", str(recording), "-o", str(table)), said)
        print(
            f"{records} records: {took.seconds:.1f} s, {took.peak_bytes / 2**30:.2f} GiB",
            flush=True,
        )
        run_once((*program, "report", str(recording), "--json"), said)
        expected, found = sums_of_report(said), sums_of_table(table)
    print(f"{sum(n for n, _ in found.values())} interruptions of {len(found)} sources")
    wrong = sum(found.get(key) != expected.get(key) for key in found.keys() | expected.keys())
    return conclude(
        [
            Limit("time", took.seconds, _LONGEST_S, "s"),
            Limit("memory", took.peak_bytes / 2**30, _MOST_GIB, "GiB"),
            Limit("sums that are not those of the report", wrong if found else float("nan"), 0),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
