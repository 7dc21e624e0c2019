"""``python -m bench.fleet [FOLDER]``: 1,000 hosts at three sizes: time, memory, answers.

The hosts are blocks of a real recording, drawn anew for each of them. Three have a planted fault,
and on the newer kernel one source takes longer. The larger fleets have the same rows on more CPUs,
with other counts, up to 100 million rows of buckets. Each answer must name what was planted, and
nothing else.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from bench.run_once import RunOnce, run_once
from bench.verdict import Limit, conclude
from noisetop.exporters.parquet_table import copy, literal
from noisetop.fleet.folder import MARKER, Fleet, open_fleet
from noisetop.fleet.tables import ALWAYS, FLEET_VERSION
from noisetop.recording.recording import Recording
from tests.fleet.fleets import fleet_of, host

HOSTS = 1_000
ROWS = (25_000_000, 50_000_000, 100_000_000)
TICK, SLOWER = "timer › local_timer › tick_nohz_handler", 1.5
FAULTS = {
    17: ("irq › 77 bad-nic.3", "irq › bad-nic.*"),
    256: ("softirq › BAD_SOFTIRQ", "softirq › BAD_SOFTIRQ"),
    801: ("thread › bad-daemon", "thread › bad-daemon"),
}
"""What is planted on a host, and how an answer calls it."""
_BLOCKS, _COUNT, _NET_NS = 20, 100, 30_000
_TRIES = 3
_LONGEST_S, _MOST_GIB = 60, 2
_LINEAR = 1.5
"""Time of a row of the largest fleet against that of the smallest; it would be 4 if time went with
the square."""
QUESTIONS = {
    "top": ("top", "--by", "kernel"),
    "outliers": ("outliers",),
    "cohorts": ("cohorts", "kernel=6.1.*", "kernel=6.12.*"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question at one size."""

    rows: int
    run: RunOnce
    """The quickest of several, with the largest peak of memory."""
    answer: Any


def hosts() -> Iterator[tuple[Recording, dict[str, str]]]:
    """The recordings, each with no labels."""
    for number in range(HOSTS):
        newer = number % 2
        planted = [(FAULTS[number][0], _COUNT, _NET_NS)] if number in FAULTS else []
        yield (
            host(
                number,
                blocks=_BLOCKS,
                slower={TICK: SLOWER} if newer else {},
                planted=planted,
                kernel="6.12.1" if newer else "6.1.9",
            ),
            {},
        )


def row_count(fleet: Fleet) -> int:
    """Rows of buckets."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        pattern = str(fleet.path / "buckets/*/*/*.parquet")
        [(rows,)] = connection.execute("SELECT count(*) FROM read_parquet(?)", [pattern]).fetchall()
    return int(rows)


def larger(fleet: Fleet, path: Path, rows: int) -> Fleet:
    """The same runs on so many times as many CPUs that there are ``rows`` of buckets, or more."""
    times = -(-rows // row_count(fleet))
    path.mkdir()
    shutil.copy(fleet.path / MARKER, path)
    copies, moved = f"%s, range({times}) copies(k)", "cpu + 1000 * k AS cpu"
    counts = "count * (1 + hash(run, cpu, bucket, k) % 3)::BIGINT AS count"
    selects = {
        "buckets": f"SELECT * EXCLUDE (k) REPLACE ({counts}, {moved}) FROM {copies}",
        "sources": f"SELECT * EXCLUDE (k) REPLACE ({moved}) FROM {copies}",
        "runs": f"SELECT * REPLACE (cpu_count * {times} AS cpu_count) FROM %s",
        "moments": "SELECT * FROM %s",
    }
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        for table in ALWAYS:
            for file in fleet.files(table):
                to = path / file.relative_to(fleet.path)
                to.parent.mkdir(parents=True)
                select = selects[table].replace("%s", f"read_parquet({literal(str(file))})")
                copy(connection, select, to, (table, FLEET_VERSION))
    return open_fleet(path)


def asked(fleet: Fleet, question: tuple[str, ...], said: Path) -> Asked:
    """The answer of the program, in a process of its own."""
    command = (sys.executable, "-m", "noisetop", "fleet", *question, str(fleet.path), "--json")
    runs = [run_once(command, said) for _ in range(_TRIES)]
    quickest = min(one.seconds for one in runs)
    peak = max(one.peak_bytes for one in runs)
    return Asked(row_count(fleet), RunOnce(quickest, peak), json.loads(said.read_text()))


def wrong_answers(question: str, answer: Any) -> int:
    """What was planted and is not named, and what is named and was not planted."""
    if question == "outliers":
        [group] = answer["groups"]
        found = {(one["host"], one["source"]) for one in group["outliers"]}
        planted = {(f"node-{number}", name) for number, (_, name) in FAULTS.items()}
        return len(found ^ planted)
    if question == "cohorts":
        return len(set(answer["changed"]) ^ {TICK, "total"})
    return sum(one["hosts"] != HOSTS // 2 for one in answer["groups"])


def limits_of(question: str, sizes: list[Asked]) -> list[Limit]:
    """Of all sizes of one question."""
    for one in sizes:
        print(
            f"{question}: {one.rows / 1e6:.0f} million rows, {one.run.seconds:.1f} s, "
            f"{one.run.peak_bytes / 2**30:.2f} GiB",
            flush=True,
        )
    smallest, *_, largest = sizes
    per_row = [one.run.seconds / one.rows for one in (smallest, largest)]
    return [
        Limit(f"{question}: time", largest.run.seconds, _LONGEST_S, "s"),
        Limit(
            f"{question}: memory", max(o.run.peak_bytes for o in sizes) / 2**30, _MOST_GIB, "GiB"
        ),
        Limit(f"{question}: growth", per_row[1] / per_row[0], _LINEAR),
        Limit(
            f"{question}: wrong answers", sum(wrong_answers(question, o.answer) for o in sizes), 0
        ),
    ]


def main() -> int:
    """0 where all limits hold."""
    where = sys.argv[1] if len(sys.argv) > 1 else None
    found: dict[str, list[Asked]] = {question: [] for question in QUESTIONS}
    with tempfile.TemporaryDirectory(dir=where) as folder:
        base = fleet_of(Path(folder) / "base", hosts())
        print(f"{HOSTS} hosts, {row_count(base)} rows of buckets", flush=True)
        for rows in ROWS:
            fleet = larger(base, Path(folder) / str(rows), rows)
            for question, words in QUESTIONS.items():
                found[question].append(asked(fleet, words, Path(folder) / "said"))
            shutil.rmtree(fleet.path)
    return conclude([one for name, sizes in found.items() for one in limits_of(name, sizes)])


if __name__ == "__main__":
    sys.exit(main())
