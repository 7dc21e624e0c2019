"""The passes of noisetop._tables under the sanitizers, called directly with what no file of ours
holds. In a process of its own, as a report ends it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import sanitized

CALLS = """
import random, sys
from pathlib import Path
import numpy as np
from tests.fuzz.worker import load_tables

load_tables(Path(sys.argv[1]))
from noisetop._tables import AsOfJoin, Groups, ThreadTimes
from noisetop._tables import add_gaps, add_up, buckets, crc32c, shares, split_by_kind
from noisetop._tables import pack_records, unpack_records
assert crc32c(b"123456789") == 0xE3069283

EDGES = [0, 1, 255, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
random.seed(7)
for _ in range(int(sys.argv[2])):
    rows, groups = random.choice([0, 1, 5, 700]), random.choice([1, 3, 50])
    def column(kind=np.uint64, values=EDGES):
        made = np.array([random.choice(values) for _ in range(rows)], np.uint64).astype(kind)
        wide = np.zeros((rows, 3), kind)
        wide[:, 1] = made
        return random.choice([made, wide[:, 1], made[::-1]])
    number = column(np.uint32, range(groups + (random.random() < 0.1)))
    histogram = np.zeros((groups, 656), np.int64)
    last = np.array([random.choice([-1, 0, 2**62, 2**63 - 1]) for _ in range(groups)], np.int64)
    sums = np.zeros((groups, 4), np.int64)
    sums[:, 1] = 2**63 - 1
    join, encoder = AsOfJoin(16, random.choice(EDGES), random.choice([0, 1, 2**32 - 1])), Groups(2)
    times = ThreadTimes(random.choice(EDGES), random.choice([True, False]), 1)
    calls = [
        lambda: times.account((column(np.uint32), column(np.uint16), column(), column(),
                               column(np.uint8), column()), np.zeros(rows, np.uint64)),
        lambda: times.ran((column(np.uint32), column(np.uint16))),
        lambda: times.close(random.choice(EDGES)),
        lambda: times.forget((column(),)),
        lambda: times.tids(),
        lambda: shares((column(), column(), column()), (column(), column(), number),
                       random.randbytes(groups), random.choice(EDGES), np.zeros(rows, np.uint64)),
        lambda: add_up((number, column(), column()), sums, random.choice([None, histogram])),
        lambda: add_gaps((number, column()), last, histogram),
        lambda: buckets(column(), np.zeros(rows, np.int64)),
        lambda: encoder.numbers((column(np.uint8), column()), np.zeros(rows, np.uint32)),
        lambda: join.add((column(), column()), np.zeros((rows, 16), np.uint8).reshape(-1)),
        lambda: join.find((column(), column()), random.choice([True, False]), bytearray(16 * rows)),
        lambda: split_by_kind([random.randbytes(16 * rows)], 16, random.choice([0, 15, 16, -1]),
                              random.randrange(256), random.randbytes(random.randrange(10)),
                              random.choice([-1, 0, 1, 3, 2**59, 2**60])),
        lambda: pack_records(random.randbytes(64 * rows), random.choice([0, 63, 64, -1]),
                             bytearray(random.choice([256 * 64, 64]))),
        lambda: unpack_records(random.randbytes(40 * rows), random.choice([0, 8, 2**62, -1]),
                               bytearray(256 * 64), bytearray(64 * random.choice([0, 1, rows]))),
    ]
    for call in random.sample(calls, len(calls)) * 2:
        try:
            call()
        except (ValueError, BufferError):
            pass
print("whole")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return sanitized.build(tmp_path_factory.mktemp("sanitized"))
    except SystemExit as error:
        pytest.skip(str(error))


def test_hostile_values_are_no_undefined_behaviour(library: Path, thorough: bool) -> None:
    """300 rounds with --thorough, else 60."""
    done = subprocess.run(
        [sys.executable, "-c", CALLS, str(library), "300" if thorough else "60"],
        env=sanitized.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("whole\n", 0), done.stderr
