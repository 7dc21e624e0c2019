"""What the live view showed of a period is what playing the recording back shows of it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from noisetop.counters.losses import LOSSES
from noisetop.events.interruption import Source
from noisetop.events.origin import Origin
from noisetop.live.feed import TracerFeed
from noisetop.live.periods import Periods
from noisetop.live.playback import Playback
from noisetop.live.sample import Sample
from noisetop.machine import affinity, system
from noisetop.recording.raw_file import SpoolWriter, read_spool
from noisetop.summary.summary import CpuSummary, Summary
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.loads import stress, workload

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPU = max(system.online_cpus())
SAMPLES = 3
INTERVAL_NS = 400_000_000


@dataclass(frozen=True)
class Sums:
    """Intervals, their time and that which is in the headline, in ns."""

    count: int
    net_ns: int
    external_ns: int


def watched(path: Path) -> list[Sample]:
    """Samples of one CPU under load, recorded into a file meanwhile."""
    stopper = Stopper()
    with contextlib.ExitStack() as stack:
        stack.callback(stopper.close)
        file = stack.enter_context(path.open("w+b", buffering=0))
        housekeeping = affinity.choose((CPU,))
        tracer = stack.enter_context(
            Tracer(Target((CPU,)), spool_fd=file.fileno(), housekeeping=housekeeping)
        )
        writer = SpoolWriter(tracer.layout, tracer)
        about = {"own_pid": tracer.own_pid, "victims": tracer.target.victims}
        metadata = {**system.describe(), **about}
        writer.write_head(metadata, tracer.names, (CPU,), tracer.processes)
        stack.enter_context(stress("--timer", "1", "--timer-freq", "1000", "--sock", "1"))
        stack.enter_context(workload("timerfd", CPU, housekeeping[0] if housekeeping else CPU, 500))
        tracer.start_window(writer.write_names)
        feed = TracerFeed(tracer, stopper, INTERVAL_NS, keeps_moments=True)
        feed.want_moments(wanted=True)
        samples = [feed.next() for _ in range(SAMPLES)]
        stopper.stop()
        samples.append(feed.next())
        writer.write_end(tracer.end_ns, tracer.window_counters(), "")
    return samples


def figures(cpu: CpuSummary) -> dict[tuple[Source, Origin, str], tuple[int, ...]]:
    return {
        (one.source, one.origin, one.aside): (
            one.count,
            one.net_ns,
            one.max_ns,
            one.idle_count,
            one.idle_ns,
            one.entries,
        )
        for one in cpu.sources
    }


def wall_ns(summary: Summary) -> dict[int, int]:
    """Of victims that are bound to the CPU: nobody tells what others do elsewhere. A thread that is
    woken while the live view looks may be a moment early there, so their parts are left out."""
    bound = summary.directory.details.bound
    times = (one.time for one in summary.victims)
    return {one.tid: one.wall_ns for one in times if bound.get(one.tid) == CPU}


def never_ended(played: CpuSummary, live: CpuSummary) -> Sums:
    """What only the live view has: it tells a thread while that runs, and there is no record of one
    whose end was not reported."""
    ours, theirs = figures(played), figures(live)
    assert ours.keys() <= theirs.keys()
    count = net_ns = external_ns = 0
    for key in (key for key in theirs if ours.get(key) != theirs[key]):
        source, origin, aside = key
        assert source.path[0] == "thread"
        recorded = ours.get(key, (0, 0))
        count += theirs[key][0] - recorded[0]
        time_ns = theirs[key][1] - recorded[1]
        net_ns += time_ns
        external_ns += time_ns if origin is not Origin.SELF and not aside else 0
    return Sums(count, net_ns, external_ns)


def assert_same(played: Summary, live: Summary, unpaired: int) -> None:
    """But for as many threads, told while they ran, as had an end that was not reported."""
    assert (played.start_ns, played.end_ns) == (live.start_ns, live.end_ns)
    for ours, theirs in zip(played.cpus, live.cpus, strict=True):
        more = never_ended(ours, theirs)
        assert 0 <= more.count <= unpaired
        assert theirs.noise_ns - ours.noise_ns == more.net_ns
        assert theirs.external_ns - ours.external_ns == more.external_ns
        if not more.count:
            assert ours.max_single_ns == theirs.max_single_ns
    # A task that was only woken by then has no name yet.
    waits = [{one.tid: one.wait for one in summary.waits} for summary in (played, live)]
    assert waits[0] == waits[1]
    assert wall_ns(played) == wall_ns(live)
    assert played.cpu_victims == live.cpu_victims


def assert_same_moments(playback: Playback, live: list[Sample]) -> None:
    """From when on it was known live whose the CPU is."""
    playback.find_worst()
    whose = live[-1].total.cpu_victims
    others = [one.total.end_ns for one in live if one.total.cpu_victims != whose]
    known_ns = max(others, default=0)
    found = live[-1].moments
    assert found
    ours, theirs = (
        [one for one in worst if one.interval.start_ns >= known_ns]
        for worst in (playback.worst, found)
    )
    count = min(len(ours), len(theirs))
    assert count > 10 or known_ns  # where that changed late, few of the worst came after it
    assert [one.interval for one in ours[:count]] == [one.interval for one in theirs[:count]]
    for one, other in zip(ours[:count], theirs[:count], strict=True):
        # The live view has one name for the tasks that it can no longer tell apart.
        assert [(part.start_ns, part.net_ns) for part in one.parts] == [
            (part.start_ns, part.net_ns) for part in other.parts
        ]


@pytest.fixture(scope="module")
def traced_and_played(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Sample], Playback]:
    """Samples, and the playback of their recording in the same periods, all of it told."""
    if len(system.online_cpus()) < 2:
        pytest.skip("takes a CPU that is not watched")
    path = tmp_path_factory.mktemp("played") / "run.noisetop"
    live = watched(path)
    recorded = read_spool(path)
    bounds = (recorded.start_ns, *(sample.interval.end_ns for sample in live))
    playback = Playback(recorded, Periods(bounds))
    playback.load()
    while playback.accounted < len(playback.periods):
        playback.account_next()
    return live, playback


def test_every_sample_is_played_back_as_it_was(
    traced_and_played: tuple[list[Sample], Playback],
) -> None:
    live, playback = traced_and_played
    assert sum(sample.interval.noise_ns for sample in live) > 0
    unpaired = live[-1].total.counters.of(LOSSES).unpaired
    for number, sample in enumerate(live):
        assert_same(playback.span(number, number + 1), sample.interval, unpaired)
        assert_same(playback.total(number + 1), sample.total, unpaired)


def test_the_worst_moments_are_those_of_the_live_view(
    traced_and_played: tuple[list[Sample], Playback],
) -> None:
    live, playback = traced_and_played
    assert_same_moments(playback, live)
