from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError, UsageError
from noisetop.flight_recorder.actions import (
    Action,
    User,
    environment_of,
    parse_action,
    run_command,
    send_signal,
)
from noisetop.recording.moment import Figures

ME = User(os.getuid(), os.getgid(), tuple(os.getgroups()), dict(os.environ))
HOSTILE = "a'b\"c\n$(touch pwned)`touch pwned`; touch pwned"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("trace", Action("trace")),
        ("trace,file=%t.noisetop", Action("trace", file="%t.noisetop")),
        ("signal,num=10,pid=4711", Action("signal", number=10, pid=4711)),
        ("signal,num=USR1,pid=4711", Action("signal", number=signal.SIGUSR1, pid=4711)),
        ("signal,num=2,pid=parent", Action("signal", number=2, pid=os.getppid())),
        ("shell,command=echo a,b=c; true", Action("shell", command="echo a,b=c; true")),
        ("continue", Action("continue")),
    ],
)
def test_the_grammar_of_rtla(text: str, action: Action) -> None:
    assert parse_action(text) == action


@pytest.mark.parametrize(
    "text",
    ["", "dance", "trace,", "trace,file=", "trace,name=x", "signal", "signal,num=99,pid=1",
     "signal,num=USR1", "signal,num=1,pid=0", "signal,num=1,pid=x", "shell", "shell,command=",
     "continue,now=1"],
)  # fmt: skip
def test_what_is_no_action_says_what_to_type(text: str) -> None:
    with pytest.raises(UsageError, match="write"):
        parse_action(text)


def test_names_arrive_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    figures = Figures(3, 5, 7, 11, None, ("thread", HOSTILE), HOSTILE)
    told = environment_of(Path("worst") / HOSTILE, figures)
    action = parse_action('shell,command=printf "%s|" "$NOISETOP_FILE" "$NOISETOP_BY" '
                          '"$NOISETOP_SOURCE" "$NOISETOP_CPU" "$NOISETOP_NET_NS" '
                          '"$NOISETOP_COST_NS" "$NOISETOP_START_NS" > told')  # fmt: skip
    run_command(action, told, ME)
    source = f"thread › {HOSTILE}"
    said = [f"worst/{HOSTILE}", HOSTILE, source, "3", "11", "", "5", ""]
    assert Path("told").read_text().split("|") == said
    assert [path.name for path in tmp_path.iterdir()] == ["told"]


def test_a_command_that_fails_is_told() -> None:
    with pytest.raises(NoisetopError, match="ended with status 3"):
        run_command(parse_action("shell,command=exit 3"), {}, ME)


def test_a_signal_reaches_its_process_or_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: got.append(number))
    try:
        send_signal(Action("signal", number=signal.SIGUSR1, pid=os.getpid()))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert got == [signal.SIGUSR1]

    def nobody(pid: int, number: int) -> None:
        raise ProcessLookupError(3, "No such process")

    monkeypatch.setattr(os, "kill", nobody)
    with pytest.raises(NoisetopError, match="SIGUSR1 to PID 4711: No such process"):
        send_signal(Action("signal", number=signal.SIGUSR1, pid=4711))
