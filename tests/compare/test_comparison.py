"""Nothing is found where nothing changed, and what changed is named."""

from __future__ import annotations

import numpy as np
import pytest

from noisetop.compare.comparison import TOTAL, Comparison, compare
from noisetop.compare.report import comparison_lines
from noisetop.compare.sample import MAX_BLOCKS, Sample, block_length_ns, sample_of_recording
from noisetop.errors import NoisetopError
from noisetop.summary.recorded import summary_of
from tests.compare.samples import SOURCES, TICK, recording, sample

PERMUTATIONS = 2_400
"""More than 18 tests at 1 % need: 60 comparisons in a test have to end."""


def changed(comparison: Comparison) -> set[str]:
    rows = (comparison.total, *comparison.rows)
    return {row.label for row in rows if row.changed}


def test_two_halves_of_one_recording_differ_in_nothing(thorough: bool) -> None:
    """3 draws of 60 at most may differ with --thorough, else none of 15."""
    whole = sample(recording(60, seed=1))
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(60 if thorough else 15):
        chosen = np.zeros(len(whole.total_ns), bool)
        chosen[rng.permutation(len(chosen))[: len(chosen) // 2]] = True
        found += bool(changed(compare(*whole.split(chosen), permutations=PERMUTATIONS)))
    assert found <= (3 if thorough else 0)


def test_contiguous_halves_of_steady_recordings_differ_in_nothing(thorough: bool) -> None:
    """1 recording of 20 at most may differ with --thorough, else none of 8."""
    found = 0
    for seed in range(20 if thorough else 8):
        whole = sample(recording(20, seed=100 + seed))
        chosen = np.arange(len(whole.total_ns)) < len(whole.total_ns) // 2
        found += bool(changed(compare(*whole.split(chosen), permutations=PERMUTATIONS)))
    assert found <= (1 if thorough else 0)


@pytest.mark.parametrize("source", range(len(SOURCES)), ids=lambda i: SOURCES[i].label)
def test_noise_of_two_percent_more_from_one_source_is_named(source: int) -> None:
    """2 % more of all the noise; it comes from one source."""
    before = sample(recording(240, seed=1))
    own = before.net_ns[:, before.labels.index(SOURCES[source].label)].sum()
    longer = 1 + 0.02 * before.total_ns.sum() / own
    after = sample(recording(240, seed=2, longer=longer, source=source), "B")
    found = changed(compare(before, after, permutations=PERMUTATIONS))
    assert SOURCES[source].label in found
    assert found <= {SOURCES[source].label, TOTAL}


def unequal(seed: int, **changed: float) -> tuple[Sample, Sample]:
    """A run of 1 s and one of 60 s."""
    short, long = recording(1, seed=seed), recording(60, seed=1000 + seed, **changed)  # type: ignore[arg-type]
    block_ns = block_length_ns((short.duration_ns, long.duration_ns))
    return sample_of_recording("A", short, block_ns), sample_of_recording("B", long, block_ns)


def test_of_a_much_longer_run_a_bounded_number_of_blocks_is_tested() -> None:
    short, long = unequal(1)
    assert len(short.total_ns) == short.blocks == 100
    assert len(long.total_ns) == MAX_BLOCKS
    assert long.blocks == 6_000
    comparison = compare(short, long, permutations=PERMUTATIONS)
    about = next(line for line in comparison_lines(comparison, 3) if line.startswith("B:"))
    assert about.startswith("B: B, 60.0 s on 1 CPU, tested on 1000 of 6000 blocks of 10.0 ms")


def test_the_figures_of_a_much_longer_run_are_those_of_all_of_it() -> None:
    short, long = unequal(1)
    noise_ns = summary_of(recording(60, seed=1001)).cpus[0].noise_ns
    comparison = compare(short, long, permutations=PERMUTATIONS)
    assert comparison.total.time.b == pytest.approx(noise_ns / 60)
    for row in (comparison.total, *comparison.rows):
        for figure in (row.rate, row.time, row.length):
            assert figure.low <= figure.b - figure.a <= figure.high


def test_runs_of_unequal_length_differ_in_nothing(thorough: bool) -> None:
    """None of 8 pairs with --thorough, else of 3."""
    found = sum(
        bool(changed(compare(*unequal(seed), permutations=PERMUTATIONS)))
        for seed in range(8 if thorough else 3)
    )
    assert found == 0


def test_a_change_is_found_in_runs_of_unequal_length() -> None:
    assert SOURCES[TICK].label in changed(
        compare(*unequal(3, longer=1.2), permutations=PERMUTATIONS)
    )


def test_a_tick_that_takes_two_percent_longer_is_named() -> None:
    before, after = sample(recording(60, seed=1)), sample(recording(60, seed=2, longer=1.02))
    comparison = compare(before, after, permutations=PERMUTATIONS)
    assert SOURCES[TICK].label in changed(comparison)
    [row] = [row for row in comparison.rows if row.label == SOURCES[TICK].label]
    assert row.time.significant
    assert not row.rate.significant
    assert row.time.ratio == pytest.approx(1.02, abs=0.01)
    assert row.time.low < row.time.b - row.time.a < row.time.high
    assert row.spread
    assert row.spread.median_ns[1] > row.spread.median_ns[0]
    assert row.length.significant
    assert row.length.ratio == pytest.approx(1.02, abs=0.01)
    assert 0 < row.length.low < row.length.b - row.length.a < row.length.high


def test_two_percent_more_ticks_are_named_by_their_rate() -> None:
    before, after = sample(recording(60, seed=1)), sample(recording(60, seed=2, more=5))
    [row] = [r for r in compare(before, after).rows if r.label == SOURCES[TICK].label]
    assert row.rate.significant
    assert row.rate.b - row.rate.a == pytest.approx(5, abs=0.2)
    assert not row.length.significant


def test_a_new_source_has_no_ratio_but_is_found() -> None:
    before, after = recording(20, seed=1), recording(20, seed=2)
    quiet = sample(before)
    keep = [i for i, label in enumerate(quiet.labels) if label != SOURCES[4].label]
    quiet.labels = tuple(quiet.labels[i] for i in keep)
    quiet.counts, quiet.net_ns = quiet.counts[:, keep], quiet.net_ns[:, keep]
    [row] = [r for r in compare(quiet, sample(after)).rows if r.label == SOURCES[4].label]
    assert row.changed
    assert row.time.ratio is None


def test_a_recording_against_itself() -> None:
    one = sample(recording(20, seed=3))
    comparison = compare(one, one)
    assert not changed(comparison)
    for row in (comparison.total, *comparison.rows):
        assert row.time.low <= 0 <= row.time.high
        assert row.time.ratio == 1


def test_time_on_idle_cpus_is_no_noise() -> None:
    one = recording(20, seed=3)
    noisy = sample(one)
    [table] = [np.concatenate(list(one.chunks()))]
    table["victim_tid"][table["source"] == 2] = 0
    one.read_chunks = lambda: iter([table])
    quiet = sample(one)
    assert SOURCES[2].label in noisy.labels
    assert SOURCES[2].label not in quiet.labels


def test_sums_are_those_of_the_summary() -> None:
    one = recording(20, seed=3)
    summary, mine = summary_of(one), sample(one)
    assert summary.cpus[0].noise_ns == int(mine.total_ns.sum())
    assert summary.cpus[0].count == int(mine.total_counts.sum())
    for source in summary.cpus[0].sources:
        durations = mine.durations[source.source.label]
        assert (durations.count, durations.total_ns) == (source.count, source.net_ns)
        assert durations.max_ns == source.max_ns


def test_the_same_files_give_the_same_answer() -> None:
    before, after = sample(recording(10, seed=1)), sample(recording(10, seed=2, longer=1.05))
    assert compare(before, after).rows == compare(before, after).rows


def test_too_short_a_recording_is_one_line() -> None:
    with pytest.raises(NoisetopError, match="too short"):
        sample_of_recording("x", recording(1, seed=1), 200_000_000)
