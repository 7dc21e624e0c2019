"""What ``--on-threshold`` and ``--on-end`` take, in the grammar of rtla, and how it is done."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError, UsageError
from noisetop.recording.moment import Figures
from noisetop.text.sanitize import printable
from noisetop.tracing.capabilities import SIGNALS, raised

TRACE, SIGNAL, SHELL, CONTINUE = "trace", "signal", "shell", "continue"
EXAMPLES = "trace,file=%t.noisetop, signal,num=USR1,pid=1234, shell,command=… or continue"
_FORM = re.compile(r"(\w+)(?:,(.*))?", re.DOTALL)
_KEYS = {TRACE: ("file",), SIGNAL: ("num", "pid"), CONTINUE: ()}
_PARENT = "parent"


@dataclass(frozen=True, slots=True)
class Action:
    """One action, as it was typed."""

    kind: str
    file: str = ""
    """Of TRACE; empty: the output of the command."""
    number: int = 0
    pid: int = 0
    command: str = ""
    """Of SHELL."""


@dataclass(frozen=True, slots=True)
class User:
    """Who runs commands."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    environment: Mapping[str, str]


def parse_action(text: str) -> Action:
    """Raises UsageError, which says what to type."""
    match = _FORM.fullmatch(text)
    kind, rest = (match[1], match[2]) if match else ("", None)
    if kind == SHELL:
        if not rest or not rest.startswith("command=") or rest == "command=":
            raise UsageError("the action shell takes a command: write shell,command='echo noise'")
        return Action(SHELL, command=rest.removeprefix("command="))
    if kind not in _KEYS:
        raise UsageError(f"'{printable(text)}' is no action: write {EXAMPLES}")
    values = _values(text, rest, _KEYS[kind])
    if kind == SIGNAL:
        return Action(SIGNAL, number=_number(values, text), pid=_pid(values, text))
    return Action(kind, file=values.get("file", ""))


def _values(text: str, rest: str | None, keys: tuple[str, ...]) -> dict[str, str]:
    values = {}
    for part in rest.split(",") if rest is not None else ():
        key, _, value = part.partition("=")
        if key not in keys or not value:
            raise UsageError(f"'{printable(text)}' is no action: write {EXAMPLES}")
        values[key] = value
    return values


def _number(values: Mapping[str, str], text: str) -> int:
    told = values.get("num", "")
    name = f"SIG{told.upper().removeprefix('SIG')}"
    try:
        return int(signal.Signals(int(told)) if told.isdigit() else signal.Signals[name])
    except (KeyError, ValueError):
        raise UsageError(
            f"'{printable(text)}' has no signal: write signal,num=USR1,pid=1234"
        ) from None


def _pid(values: Mapping[str, str], text: str) -> int:
    told = values.get("pid", "")
    if told == _PARENT:
        return os.getppid()
    if not told.isdigit() or int(told) < 1 or int(told) > 1 << 22:
        raise UsageError(
            f"'{printable(text)}' has no process: write signal,num=USR1,pid=1234 or pid=parent"
        )
    return int(told)


def environment_of(path: Path | None, figures: Figures | None) -> dict[str, str]:
    """What a command is told of the moment, each as data."""
    told = {"NOISETOP_FILE": "" if path is None else str(path)}
    if figures is None:
        return told
    cost_ns = "" if figures.cost_ns is None else str(figures.cost_ns)
    return told | {
        "NOISETOP_CPU": str(figures.cpu),
        "NOISETOP_NET_NS": str(figures.net_ns),
        "NOISETOP_COST_NS": cost_ns,
        "NOISETOP_SOURCE": " › ".join(figures.source),
        "NOISETOP_BY": figures.by,
        "NOISETOP_START_NS": str(figures.start_ns),
    }


def send_signal(action: Action) -> None:
    """Raises NoisetopError where there is no such process."""
    try:
        with raised(SIGNALS):
            os.kill(action.pid, action.number)
    except OSError as error:
        name = signal.Signals(action.number).name
        raise NoisetopError(f"{name} to PID {action.pid}: {error.strerror}") from None


def run_command(action: Action, told: Mapping[str, str], user: User) -> None:
    """Waits for its end. Raises NoisetopError where it does not succeed."""
    done = subprocess.run(
        ["/bin/sh", "-c", action.command],
        env={**user.environment, **told},
        user=user.uid,
        group=user.gid,
        extra_groups=user.groups,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise NoisetopError(f"'{printable(action.command)}' ended with status {done.returncode}")
