from __future__ import annotations

from pathlib import Path

import pytest

from noisetop.cli import parse, run
from noisetop.errors import UsageError
from noisetop.flight_recorder.actions import Action
from noisetop.session.flight_options import FlightOptions, flight_options


def options(*words: str) -> FlightOptions:
    _, args = parse(["record", *words])
    found = flight_options(args)
    assert found is not None
    return found


def test_an_ordinary_recording_asks_for_none() -> None:
    assert flight_options(parse(["record", "-d", "1s"])[1]) is None


def test_times_and_sizes_have_units_and_defaults() -> None:
    plan = options("--worst", "3").plan
    assert (plan.keep_ns, plan.keep_bytes, plan.after_ns) == (10**10, 256 << 20, 10**9)
    plan = options("--keep", "500ms,2G", "--after", "0", "--hold-off", "3s").plan
    assert (plan.keep_ns, plan.keep_bytes) == (5 * 10**8, 2 << 30)
    assert (plan.after_ns, plan.hold_off_ns) == (0, 3 * 10**9)
    assert options("--keep", "5s").plan.keep_bytes == 256 << 20


def test_the_letters_of_rtla_are_microseconds() -> None:
    given = options("-s", "50", "-S", "1.5ms", "-T", "2", "--stop-wait", "3ms")
    assert (given.single_ns, given.total_ns) == (50_000, 1_500_000)
    assert (given.plan.least_ns, given.wait_ns) == (2_000, 3_000_000)
    assert given.on_threshold == (Action("trace"),)


def test_actions_come_in_their_order() -> None:
    given = options(
        "-s", "50", "--on-threshold", "trace,file=%n.noisetop", "--on-threshold", "continue",
        "--on-end", "trace",
    )  # fmt: skip
    assert given.on_threshold == (Action("trace", file="%n.noisetop"), Action("continue"))
    assert given.on_end == (Action("trace"),)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["--worst", "3"], "-o DIR/"),
        (["--worst", "3", "-s", "10", "-o", "x"], "leave out"),
        (["--worst", "0", "-o", "x"], "1 to 10000"),
        (["--keep", "1s,1K"], "1M or more"),
        (["--keep", "1s,1"], "1M or more"),
        (["--after", "2s"], "--keep, --worst or -s"),
        (["--on-threshold", "trace"], "--keep, --worst or -s"),
        (["--hold-off", "1s"], "--keep, --worst or -s"),
        (["--max-files", "2"], "--keep, --worst or -s"),
        (["-T", "2"], "--keep, --worst or -s"),
        (["--keep", "1s", "--on-threshold", "trace"], "goes with -s"),
        (["-s", "10", "-T", "5"], "-T goes with -S"),
        (["-s", "10", "--fail-on", "lost>0"], "--fail-on"),
        (["-s", "10", "--period", "10ms"], "goes with -S"),
        (["-S", "10", "--period", "10us"], "1ms or more"),
        (["--period", "10ms"], "--keep, --worst or -s"),
        (["--stop-gap", "1ms"], "with -c"),
        (["--stop-gap", "1ms", "-c", "0", "-p", "1"], "with -c"),
        (["-s", "10", "--on-end", "continue"], "the run is over"),
        (
            ["-s", "10", "--on-threshold", "continue", "--on-threshold", "trace"],
            "last action",
        ),
        (["-s", "10", "-o", "x.json"], "noisetop export"),
        (["-s", "10", "--control", "fifo:missing"], "mkfifo"),
        (["-s", "10", "-o", "there.noisetop"], "--force"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], advice: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.noisetop").write_text("mine")
    with pytest.raises(UsageError, match=advice):
        run(["record", *words])
    assert [path.name for path in tmp_path.iterdir()] == ["there.noisetop"]
