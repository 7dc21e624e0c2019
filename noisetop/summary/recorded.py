"""The summary of a recording."""

from __future__ import annotations

from noisetop.recording.recording import Recording
from noisetop.summary.summary import Summarizer, Summary


def summary_of(recording: Recording) -> Summary:
    """Aggregates the whole recording; reads it once."""
    summarizer = Summarizer(
        recording.cpus, recording.sources, recording.triggers, recording.directory
    )
    for chunk in recording.all_chunks():
        summarizer.add(chunk)
    return summary_from(recording, summarizer)


def summary_from(recording: Recording, summarizer: Summarizer) -> Summary:
    """The summary of a recording whose tables ``summarizer`` has got."""
    return summarizer.summary(
        recording.start_ns,
        recording.end_ns,
        recording.counters,
        tasks=recording.tasks,
        waits=recording.waits.by_task(),
        victims=recording.victims,
    )
