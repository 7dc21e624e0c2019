"""The summary of a recording."""

from __future__ import annotations

from noisetop.errors import UsageError
from noisetop.recording.recording import Recording
from noisetop.summary.cpu_victim import GIVEN, Claims, CpuVictim, CpuVictims
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import Summary
from noisetop.text.sanitize import printable

VICTIM_OF_FILE = "the program that the watched CPUs were there for; default: as recorded"
"""Help of the option that say_victim() is for."""


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
        cpu_victims=cpu_victims_of(recording),
    )


def say_victim(recording: Recording, given: str | None) -> None:
    """Has the watched CPUs be there for a program, by number or name; None: as recorded. Raises
    UsageError where the recording tells its own victims."""
    if given is None:
        return
    if not Claims.of(recording.metadata).any_task:
        raise UsageError("--victim takes a recording of CPUs, made with -c: leave it out")
    recording.metadata["victim"] = given


def check_victim(whose: CpuVictims, given: str | None) -> None:
    """Raises UsageError where who was said by say_victim() ran on no watched CPU."""
    if given is not None and not any(one and one.found == GIVEN for one in whose.values()):
        raise UsageError(
            f"no task {printable(given)} ran on the watched CPUs: noisetop report lists them"
        )


def cpu_victims_of(recording: Recording) -> dict[int, CpuVictim | None]:
    """Whose the watched CPUs are, of a part by the whole; complete only after all chunks were
    read."""
    recording = recording.whole or recording
    return Claims.of(recording.metadata).victims(
        recording.cpus, recording.victims, recording.directory, recording.duration_ns
    )
