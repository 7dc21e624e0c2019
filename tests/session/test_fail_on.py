from __future__ import annotations

from pathlib import Path

import pytest

from noisetop.cli import run
from noisetop.errors import EXIT_LIMIT, NoisetopError, UsageError
from noisetop.exporters import recording_output
from noisetop.limits.grammar import parse_limits
from noisetop.limits.outcome import Outcome
from noisetop.recording.recording import Recording
from noisetop.session.capture import Capture
from noisetop.session.fail_on import limit_status
from tests.recordings import write_spool

KEPT, CROSSED = (Outcome(parse_limits("noise>1%")[0], share) for share in (0.5, 1.5))


@pytest.mark.parametrize(
    ("outcomes", "lost", "status", "lines"),
    [
        ((), 9, 0, 0),
        ((KEPT,), 0, 0, 0),
        ((KEPT,), 9, 0, 1),
        ((CROSSED,), 9, EXIT_LIMIT, 1),
        ((KEPT, CROSSED), 9, EXIT_LIMIT, 2),
    ],
)
def test_status_and_lines(
    outcomes: tuple[Outcome, ...],
    lost: int,
    status: int,
    lines: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert limit_status(outcomes, lost) == status
    told = capsys.readouterr().err.splitlines()
    assert len(told) == lines
    assert all(line.startswith("noisetop: ") for line in told)


def test_a_wrong_limit_ends_a_recording_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'single>5' has no unit"):
        run(["record", "-o", str(tmp_path / "a.noisetop"), "--fail-on", "single>5", "--", "true"])
    assert list(tmp_path.iterdir()) == []


def capture(path: Path, seen: list[str], *, fails: bool = False) -> Capture:
    """With a spool file that is complete. ``seen``: gets what was there when it was inspected."""

    def inspect(recording: Recording) -> None:
        assert recording.metadata["host"] == "box"
        seen.extend(sorted(one.name for one in path.parent.iterdir()))
        if fails:
            raise NoisetopError("there is no calibration")

    made = Capture(path, force=False, inspect=inspect)
    made._output = recording_output(path, force=False)
    write_spool(made.spool)
    return made


@pytest.mark.parametrize(
    ("name", "there"),
    [("a.noisetop", ["a.noisetop"]), ("a.folded", ["a.folded", "a.folded.partial"])],
)
@pytest.mark.parametrize("fails", [False, True])
def test_an_output_is_complete_before_it_is_judged(
    tmp_path: Path, name: str, there: list[str], fails: bool
) -> None:
    seen: list[str] = []
    made = capture(tmp_path / name, seen, fails=fails)
    if fails:
        with pytest.raises(NoisetopError, match="calibration"):
            made.publish()
    else:
        made.publish()
    assert seen == there
    assert [one.name for one in tmp_path.iterdir()] == [name]
