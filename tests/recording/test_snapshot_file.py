from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.losses import LOSSES, Losses
from noisetop.events.interruption import Flag
from noisetop.recording.raw_file import read_spool
from noisetop.recording.snapshot_file import Snapshot, wanted
from tests.builders import side_figures
from tests.recordings import FLAGS, START_NS, all_rows, events, layout, names

KINDS = (0, FLAGS["NAME"], FLAGS["TRIGGER"], FLAGS["WAIT"])
RECORDS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 300), st.integers(0, 300)), max_size=30
)


def is_wanted(kind: int, start: int, gross: int, begin: int, end: int) -> bool:
    """As noisetop/native/drain.c has it."""
    if kind in (FLAGS["NAME"], FLAGS["TRIGGER"]):
        return start <= end
    if kind == FLAGS["WAIT"]:
        return begin <= start + gross <= end
    return start >= begin and start + gross <= end


@given(RECORDS, st.integers(0, 200), st.integers(0, 300))
def test_a_period_has_what_an_ordinary_recording_of_it_has(
    records: list[tuple[int, int, int]], begin: int, length: int
) -> None:
    rows = np.zeros(len(records), layout().event)
    for row, (kind, start, gross) in zip(rows, records, strict=True):
        row["flags"], row["start_ns"], row["gross_ns"] = kind, start, gross
    expected = [is_wanted(*one, begin, begin + length) for one in records]
    assert wanted(rows, layout(), begin, begin + length).tolist() == expected


def test_it_is_an_ordinary_recording(tmp_path: Path) -> None:
    softirq = {"source": "softirq", "id": 1, "cpu": 2, "victim_tid": 7, "flags": Flag.OUTERMOST}
    piece = events(
        *({**softirq, "start_ns": START_NS + 100 * i, "gross_ns": 50} for i in range(6)),
        {"source": "thread", "flags": FLAGS["NAME"], "tid": 7, "comm": b"app", "start_ns": 1},
    )
    snapshot = Snapshot(
        layout=layout(),
        names=names(),
        metadata={"host": "box", "trigger": {"kind": "single"}},
        cpus=(2, 3),
        start_ns=START_NS + 100,
        end_ns=START_NS + 450,
        pieces=(piece,),
        opened=piece[:0],
        counters=side_figures(losses=Losses({2: {"ring_full": 3}})),
        details={"processes": {}, "cgroups": {}, "bound_threads": {}},
        ended="asked",
    )
    path = tmp_path / "a.noisetop"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        snapshot.write(fd)
    finally:
        os.close(fd)
    recorded = read_spool(path)
    assert all_rows(recorded)["start_ns"].tolist() == [START_NS + 100 * i for i in (1, 2, 3, 4)]
    assert (recorded.start_ns, recorded.end_ns) == (START_NS + 100, START_NS + 450)
    assert recorded.tasks == {7: "app"}
    assert recorded.counters.of(LOSSES).by_cpu == {2: {"ring_full": 3}}
    assert (recorded.damage, recorded.ended) == ("", "asked")
    assert recorded.metadata["trigger"] == {"kind": "single"}
