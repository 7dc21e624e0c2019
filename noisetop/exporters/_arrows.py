"""Flow arrows of a Chrome trace: from the moment at which somebody acted on another CPU to the
interruption that it caused. Viewers draw them; noisetop.recording.chrome_trace_file skips them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import Interruptions
from noisetop.events.trigger import Trigger
from noisetop.exporters._number_rows import NumberColumn, NumberRows
from noisetop.tables.rows import select

_SENDER_NS = 1  # so that no two on a track cross
_ARROW = b',{"cat":"trigger","name":"trigger",'

Numbers = npt.NDArray[np.int64]


@dataclass(slots=True)
class ArrowWriter:
    """Lines for the triggers of a recording that acted at a known moment on another CPU."""

    triggers: Sequence[Trigger]
    start_ns: int
    _cpus: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    _names: list[bytes] = field(default_factory=list)
    _senders: NumberRows = field(default_factory=NumberRows)
    _begins: NumberRows = field(default_factory=NumberRows)
    _ends: NumberRows = field(default_factory=NumberRows)
    _count: int = 0

    def chosen(self, table: Interruptions) -> Numbers:
        """Rows that get an arrow: of those inside each other that share a trigger, the outer."""
        self._learn()
        cpu = self._cpus[table["trigger"]]
        rows = np.flatnonzero(
            (table["trigger_ns"] >= self.start_ns)
            & (table["trigger_ns"] <= table["start_ns"])
            & (table["trigger_ns"] != 0)
            & (cpu >= 0)
            & (cpu != table["cpu"])
        )
        some = select(table, rows)
        order = np.lexsort((some["level"], some["start_ns"], some["cpu"], some["trigger_ns"]))
        same = np.zeros(len(rows), bool)
        sent, cpus = some["trigger_ns"][order], some["cpu"][order]
        same[1:] = (sent[1:] == sent[:-1]) & (cpus[1:] == cpus[:-1])
        found: Numbers = np.sort(rows[order[~same]])
        return found

    def sender_cpus(self, table: Interruptions) -> Numbers:
        """Where the triggers of these rows acted."""
        cpus: Numbers = self._cpus[table["trigger"]]
        return cpus

    def _learn(self) -> None:
        """The list of triggers grows while a recording is read."""
        new = self.triggers[len(self._names) :]
        self._cpus = np.concatenate([self._cpus, [one.cpu for one in new]]).astype(np.int64)
        self._names += [_sender_text(one) for one in new]

    def lines(
        self,
        table: Interruptions,
        track: npt.NDArray[np.unsignedinteger],
        sender_track: npt.NDArray[np.unsignedinteger],
    ) -> Iterator[bytes]:
        """A small slice for each sender, then both ends of each arrow."""
        if not len(table):
            return
        cpu = self._cpus[table["trigger"]].astype(np.uint32)
        sent = table["trigger_ns"] - np.uint64(self.start_ns)
        start = table["start_ns"] - np.uint64(self.start_ns)
        numbers = np.arange(self._count, self._count + len(table), dtype=np.uint64)
        self._count += len(table)
        places = (
            NumberColumn("pid", cpu),
            NumberColumn("tid", sender_track),
            NumberColumn("ts", sent, thousandths=True),
        )
        yield self._sender_lines(places, table["trigger"], _first_of_each(sent, sender_track))
        id_of = NumberColumn("id", numbers)
        yield self._begins.rows(_ARROW + b'"ph":"s",', id_of, *places, b"}\n").tobytes()
        yield self._ends.rows(
            _ARROW + b'"ph":"f","bp":"e",',
            id_of,
            NumberColumn("pid", table["cpu"]),
            NumberColumn("tid", track),
            NumberColumn("ts", start, thousandths=True),
            b"}\n",
        ).tobytes()

    def _sender_lines(
        self, places: Sequence[NumberColumn], triggers: npt.NDArray[np.uint32], once: Numbers
    ) -> bytes:
        lines = self._senders.lines(
            *(NumberColumn(one.name, one.numbers[once], one.thousandths) for one in places),
            b',"dur":0.%03d}\n' % _SENDER_NS,
        )
        both: list[bytes] = [b""] * (2 * len(lines))
        both[::2] = [self._names[number] for number in triggers[once].tolist()]
        both[1::2] = lines
        return b"".join(both)


def _first_of_each(sent: npt.NDArray[np.uint64], track: npt.NDArray[np.unsignedinteger]) -> Numbers:
    """A row for each moment on a track: one act may cause several interruptions."""
    order = np.lexsort((track, sent))
    first = np.ones(len(order), bool)
    moments, tracks = sent[order], track[order]
    first[1:] = (moments[1:] != moments[:-1]) | (tracks[1:] != tracks[:-1])
    found: Numbers = order[first]
    return found


def _sender_text(trigger: Trigger) -> bytes:
    name = json.dumps(trigger.label).replace("<", "\\u003c").replace("\x7f", "\\u007f")
    return b',{"cat":"trigger","name":%s,"ph":"X",' % name.encode()
