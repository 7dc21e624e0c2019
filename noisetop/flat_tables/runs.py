"""The table of runs: one row about the whole recording."""

from __future__ import annotations

import json
from collections.abc import Iterator

from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.flat_tables.schema import SCHEMA_VERSION, TEXT, Batch, Column, FlatTable, batch_of
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.text.cpu_list import format_cpu_list
from noisetop.version import version

_COLUMNS = (
    Column("schema_version", "uint32", "version of these tables"),
    Column("writer", TEXT, "the noisetop that wrote the table"),
    Column("host", TEXT, "where it was recorded"),
    Column("kernel", TEXT, "release of the kernel"),
    Column("machine", TEXT, "architecture"),
    Column("command", TEXT, "command line of noisetop"),
    Column("target", TEXT, "what was watched"),
    Column("started", TEXT, "date and time of the start, ISO 8601"),
    Column("cpus", TEXT, "the watched CPUs, in the kernel's list format"),
    Column("cpu_count", "uint32", "how many these are"),
    Column("start_ns", "uint64", "start of the period, CLOCK_MONOTONIC"),
    Column("end_ns", "uint64", "its end"),
    Column("duration_ns", "uint64", "its length"),
    Column("count", "uint64", "interruptions, those of idle CPUs included"),
    Column("noise_ns", "uint64", "net time taken from victims on all watched CPUs"),
    Column("cost_ns", "uint64", "estimate of what they lost", nullable=True),
    Column("external_ns", "uint64", "`noise_ns` without self-inflicted noise: the headline"),
    Column("external_cost_ns", "uint64", "estimate of the same", nullable=True),
    Column("idle_ns", "uint64", "net time of what ran on idle CPUs: no noise"),
    Column("max_single_ns", "uint64", "longest contiguous interval of noise"),
    Column("max_single_start_ns", "uint64", "when that began, CLOCK_MONOTONIC"),
    Column("lost", "uint64", "dropped records; 0: the figures are complete"),
    Column("ended", TEXT, "why the recording ended; empty: as asked"),
    Column("damage", TEXT, "what is wrong with the file; empty: nothing"),
    Column("metadata", TEXT, "host, kernel, command, topology: all of it, as JSON"),
    Column("losses", TEXT, "what got lost or has no other half, by reason and CPU"),
)
_OF_METADATA = ("host", "kernel", "machine", "command", "target", "started")


def _batches(recording: Recording) -> Iterator[Batch]:
    summary = summary_of(recording)
    whole, metadata = summary.all_cpus(), recording.metadata
    losses = recording.counters.of(LOSSES)
    row = (
        SCHEMA_VERSION,
        f"noisetop {version()}",
        *(str(metadata.get(key, "")) for key in _OF_METADATA),
        format_cpu_list(recording.cpus),
        len(recording.cpus),
        recording.start_ns,
        recording.end_ns,
        recording.duration_ns,
        sum(one.count + one.idle_count for one in whole.sources),
        summary.noise_ns,
        whole.cost_ns,
        whole.external_ns,
        whole.external_cost_ns,
        whole.idle_ns,
        whole.max_single_ns,
        whole.max_single_start_ns,
        losses.total,
        recording.ended,
        recording.damage,
        json.dumps(metadata),
        describe_losses(losses),
    )
    return batch_of(_COLUMNS, [row])


TABLE = FlatTable("runs", "the recording itself: one row", _COLUMNS, _batches)
