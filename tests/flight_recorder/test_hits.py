from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.flight_recorder.actions import User, parse_action, run_command
from noisetop.flight_recorder.hits import HitFiles, numbered
from noisetop.recording.moment import ASKED
from noisetop.recording.open import open_recording
from tests.flight_recorder.made_up import taken

ME = User(os.getuid(), os.getgid(), tuple(os.getgroups()), dict(os.environ))
RUN = partial(run_command, user=ME)


def hits(output: Path, *actions: str, max_files: int = 0) -> HitFiles:
    told: list[str] = []
    made = HitFiles(
        [parse_action(one) for one in actions or ("trace",)], output, RUN, told.append,
        max_files=max_files,
    )  # fmt: skip
    made.open()
    return made


def test_actions_are_done_in_their_order_with_the_file(tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = f'shell,command=echo "$NOISETOP_FILE $NOISETOP_CPU $NOISETOP_NET_NS" >> {told}'
    made = hits(tmp_path / "x.noisetop", command, "trace", command, "continue")
    made.take(taken(1, 5_000))
    assert told.read_text().splitlines() == [" 2 5000", f"{tmp_path / 'x.noisetop'} 2 5000"]
    assert open_recording(tmp_path / "x.noisetop").duration_ns == 2_000_000_000
    assert made.goes_on
    assert not made.stop.is_set()


@pytest.mark.parametrize("first", ["shell,command=exit 4", "trace,file=%s/mine.noisetop"])
def test_a_list_that_fails_before_it_continues_ends_the_run(first: str, tmp_path: Path) -> None:
    """As with rtla, whose ``continue`` is an action like the others."""
    (tmp_path / "mine.noisetop").touch()
    made = hits(tmp_path / "x.noisetop", first.replace("%s", str(tmp_path)), "continue")
    made.take(taken(1, 5_000))
    assert made.stop.is_set()


def test_the_first_that_fails_ends_the_list(tmp_path: Path) -> None:
    made = hits(tmp_path / "x.noisetop", "shell,command=exit 4", "trace")
    said: list[str] = []
    made.notice = said.append
    made.take(taken(1, 5_000))
    assert said == ["action shell: 'exit 4' ended with status 4"]
    assert list(tmp_path.iterdir()) == []
    assert made.stop.is_set()


def test_what_the_victim_did_itself_does_nothing(tmp_path: Path) -> None:
    made = hits(tmp_path / "x.noisetop", f"shell,command=touch {tmp_path}/y", "trace")
    made.take(taken(1, 5_000, own=True))
    assert list(tmp_path.iterdir()) == []
    assert not made.stop.is_set()


def test_what_was_asked_for_is_written_in_any_case(tmp_path: Path) -> None:
    made = hits(tmp_path / "x.noisetop")
    made.take(taken(1, 5_000, kind=ASKED, own=True))
    assert (tmp_path / "x.noisetop").exists()
    assert not made.stop.is_set()


def test_older_files_make_room(tmp_path: Path) -> None:
    made = hits(numbered(tmp_path / "x.noisetop"), max_files=3)
    for number in range(8):
        made.take(taken(number, 5_000 + number))
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["x-6.noisetop", "x-7.noisetop", "x-8.noisetop"]
    assert made.count == 8


def test_no_other_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x-1.noisetop").write_text("mine")
    made = hits(numbered(tmp_path / "x.noisetop"))
    said: list[str] = []
    made.notice = said.append
    made.take(taken(1, 5_000))
    assert (tmp_path / "x-1.noisetop").read_text() == "mine"
    assert len(said) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_names_have_the_time_and_a_number(tmp_path: Path) -> None:
    assert numbered(Path("a/%t.noisetop")) == Path("a/%t.noisetop")
    made = hits(tmp_path / "x.noisetop", f"trace,file={tmp_path}/%t-%n.noisetop")
    made.take(taken(1, 5_000))
    [file] = tmp_path.iterdir()
    assert file.name[8] == "T"
    assert file.name.endswith("-1.noisetop")


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    made = hits(tmp_path / "gone" / "x.noisetop")
    with pytest.raises(NoisetopError, match="cannot write"):
        made.take(taken(1, 5_000))


def test_what_is_below_the_threshold_after_all_does_nothing(tmp_path: Path) -> None:
    made = hits(tmp_path / "x.noisetop")
    one = taken(1, 5_000)
    made.take(replace(one, moment=replace(one.moment, threshold_ns=5_001)))
    assert list(tmp_path.iterdir()) == []
    made.take(replace(one, moment=replace(one.moment, threshold_ns=5_000)))
    assert made.stop.is_set()
