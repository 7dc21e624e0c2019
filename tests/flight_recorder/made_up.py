"""Snapshots of made-up records."""

from __future__ import annotations

import datetime

from noisetop.events.interruption import Flag
from noisetop.flight_recorder.snapshot_files import Taken
from noisetop.recording.moment import ASKED, SINGLE, Moment
from noisetop.recording.snapshot_file import Snapshot
from tests.builders import side_figures
from tests.recordings import START_NS, events, layout, names

SECOND = 1_000_000_000
VICTIM = 7
_DAY = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def taken(
    at_s: float,
    noise_ns: int,
    *,
    kind: str = SINGLE,
    before_s: float = 1,
    after_s: float = 1,
    own: bool = False,
) -> Taken:
    """A device interrupt at a second of the trace, with the file around it; ``own``: a softirq that
    the victim raised itself."""
    start_ns = START_NS + round(at_s * SECOND)
    begin_ns, end_ns = start_ns - round(before_s * SECOND), start_ns + round(after_s * SECOND)
    started = _DAY + datetime.timedelta(seconds=at_s - before_s)
    row = {"source": "irq", "id": 36, "comm": b"virtio1", "cpu": 2, "level": layout().levels["IRQ"]}
    if own:
        raised = layout().contexts["TASK"] + 1
        row = {
            "source": "softirq",
            "id": 1,
            "cpu": 2,
            "object": VICTIM | raised << 56,
            "level": layout().levels["SOFTIRQ"],
        }
    noise = events(
        {
            **row,
            "start_ns": start_ns,
            "gross_ns": noise_ns,
            "net_ns": noise_ns,
            "victim_tid": VICTIM,
            "tid": VICTIM,
            "flags": Flag.OUTERMOST,
        }
    )
    snapshot = Snapshot(
        layout=layout(),
        names=names(),
        metadata={
            "host": "box",
            "started": started.isoformat(timespec="milliseconds"),
            "victims": "PROCESS",
        },
        cpus=(2, 3),
        start_ns=begin_ns,
        end_ns=end_ns,
        pieces=(noise,),
        opened=noise[:0],
        counters=side_figures(),
        details={},
    )
    cpu = -1 if kind == ASKED else 2
    first, last = (begin_ns, end_ns) if kind == ASKED else (start_ns, start_ns + noise_ns)
    return Taken(Moment(kind, cpu, first, last, noise_ns, 1), snapshot)
