"""What holds for recordings of a real kernel, through every file that can be read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.counters.overhead import OVERHEAD
from noisetop.events.interruption import Flag, Interruptions
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.summary.worst import summarize_with_worst
from tests.recordings import DATA, all_rows, write_recording

SAMPLES = ("unloaded", "noisy")


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Recording:
    return open_recording(DATA / f"{request.param}.noisetop")


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".noisetop"])
def test_reads_back_from_every_format(sample: Recording, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    write_recording(sample, path, force=False)
    found = open_recording(path)
    assert np.array_equal(all_rows(found), all_rows(sample))
    assert summary_of(found) == summary_of(sample)
    assert found.metadata == sample.metadata


def test_noise_fits_into_the_time(sample: Recording) -> None:
    summary = summary_of(sample)
    for cpu in summary.cpus:
        assert 0 < cpu.noise_ns + cpu.idle_ns <= summary.duration_ns
        assert cpu.max_single_ns <= cpu.noise_ns


def test_no_interruption_is_shorter_than_what_is_left_of_it(sample: Recording) -> None:
    rows = all_rows(sample)
    assert len(rows) > 1_000
    assert (rows["net_ns"] <= rows["gross_ns"]).all()
    assert (rows["start_ns"] >= sample.start_ns).all()
    assert (rows["start_ns"] + rows["gross_ns"] <= sample.end_ns).all()


def test_the_net_times_inside_an_outermost_interruption_are_its_gross_time(
    sample: Recording,
) -> None:
    """To the nanosecond: nothing is counted twice and nothing is left out."""
    rows = all_rows(sample)
    rows = rows[np.lexsort((-rows["gross_ns"].astype(np.int64), rows["start_ns"]))]
    for cpu in sample.cpus:
        mine = rows[rows["cpu"] == cpu]
        outer = mine[mine["flags"] & Flag.OUTERMOST != 0]
        around = np.searchsorted(outer["start_ns"], mine["start_ns"], side="right") - 1
        ends = outer["start_ns"] + outer["gross_ns"]
        # What began before the window started is not there, but what interrupted it later is.
        inside = (around >= 0) & (mine["start_ns"] + mine["gross_ns"] <= ends[around])
        net_ns = np.bincount(around[inside], mine["net_ns"][inside], len(outer))
        assert np.array_equal(net_ns.astype(np.int64), outer["gross_ns"].astype(np.int64))


def test_parts_of_the_worst_add_up(sample: Recording) -> None:
    _, worst = summarize_with_worst(sample, 10)
    assert len(worst) == 10
    for one in worst:
        parts_ns = sum(part.net_ns for part in one.parts) + one.more_ns
        assert parts_ns == one.interval.noise_ns


def classes(rows: Interruptions, sample: Recording) -> set[str]:
    return {sample.sources[number].noise_class for number in np.unique(rows["source"])}


def test_nothing_reached_the_quiet_one() -> None:
    """A thread that spins on an isolated core of nohz_full=, where others act on other cores."""
    quiet = open_recording(DATA / "quiet.noisetop")
    summary = summary_of(quiet)
    assert [quiet.metadata[name] for name in ("isolated", "nohz_full")] == ["2-3", "2-3"]
    assert (quiet.cpus, summary.noise_ns, summary.counters.of(LOSSES).total) == ((3,), 0, 0)
    assert summary.duration_ns > 5_000_000_000
    assert summary.counters.of(OVERHEAD).records > 500


def test_the_noisy_one_has_all_that_was_provoked() -> None:
    noisy = open_recording(DATA / "noisy.noisetop")
    assert classes(all_rows(noisy), noisy) >= {"ipi", "timer", "softirq", "thread"}
    labels = {source.label for source in noisy.sources}
    assert "timer › local_timer › posix_timer_fn" in labels
    assert "thread › stress-ng-sock" in labels
