"""A recording as the time that ranks lose: disjoint delays of each CPU or victim thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisetop.errors import NoisetopError
from noisetop.events.interruption import INTERRUPTION, interrupting
from noisetop.events.source_groups import group_label
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.summary.worst import without_aside
from noisetop.tables.rows import joined

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_FIELDS = ["start_ns", "net_ns", "source", "cpu", "victim_tid"]


@dataclass(frozen=True, slots=True)
class Delays:
    """What one rank of a node loses. Times count from the start of the recording, ns."""

    begin_ns: Numbers
    """Ascending, and no delay begins before the last one ended."""
    length_ns: Numbers
    source: Numbers
    """Index into the sources of the node."""

    def only(self, keep: Mask) -> Delays:
        """The delays of some sources; what the others took becomes work. ``keep``: by source."""
        mine = keep[self.source]
        return Delays(self.begin_ns[mine], self.length_ns[mine], self.source[mine])


@dataclass(frozen=True, slots=True)
class Node:
    """One recording: ranks that run at the same time."""

    duration_ns: int
    ranks: list[Delays]
    sources: list[str]

    def only(self, keep: Mask) -> Node:
        """The same with some of the sources."""
        return Node(self.duration_ns, [one.only(keep) for one in self.ranks], self.sources)


def node_of(recording: Recording) -> Node:
    """The external noise of a recording: a rank for each watched CPU, or for each victim thread
    where a process was watched. Raises NoisetopError where nobody was watched."""
    summary = summary_of(recording)
    of_process = bool(recording.metadata.get("pid"))
    aside = recording.sources, summary.cpu_victims, summary.directory
    chunks = [
        without_aside(interrupting(chunk), *aside)[_FIELDS] for chunk in recording.all_chunks()
    ]
    table = joined([np.empty(0, INTERRUPTION)[_FIELDS], *chunks])
    key = table["victim_tid" if of_process else "cpu"].astype(np.int64)
    names = sorted(set(np.unique(key).tolist()) if of_process else recording.cpus)
    if not names or recording.duration_ns <= 0:
        raise NoisetopError("the recording watched nobody: record with -c or -p")
    labels = [group_label(one) for one in recording.sources]
    sources = sorted(set(labels))
    place = np.array([sources.index(one) for one in labels], np.int64)
    ranks = []
    for name in names:
        rows = table[key == name]
        order = np.argsort(rows["start_ns"], kind="stable")
        start_ns = rows["start_ns"][order].astype(np.int64) - recording.start_ns
        length_ns = rows["net_ns"][order].astype(np.int64)
        source = place[rows["source"][order]]
        ranks.append(Delays(disjoint(start_ns, length_ns), length_ns, source))
    return Node(recording.duration_ns, ranks, sources)


def disjoint(start_ns: Numbers, length_ns: Numbers) -> Numbers:
    """When each begins if none begins before the last one ended. Nested interruptions are laid one
    behind the other, which changes no sum and moves them by less than the one that they are in."""
    if not len(start_ns):
        return start_ns
    before = np.cumsum(length_ns) - length_ns
    begin: Numbers = np.maximum.accumulate(start_ns - before) + before
    return begin


def all_sources(nodes: Sequence[Node]) -> list[str]:
    """Sources of all nodes."""
    return sorted({source for node in nodes for source in node.sources})


def lost_ns(nodes: Sequence[Node]) -> dict[str, int]:
    """Time that each source took from all ranks of all nodes."""
    sums = dict.fromkeys(all_sources(nodes), 0)
    for node in nodes:
        for rank in node.ranks:
            found = np.bincount(rank.source, rank.length_ns, len(node.sources))
            for source, taken in zip(node.sources, found.tolist(), strict=True):
                sums[source] += round(taken)
    return sums
