"""What is read while loops spin that are made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from noisetop.probe.spin import SpinSettings, _Run


def test_what_ends_while_the_trace_is_collected_is_looked_at_once_more() -> None:
    loops = SimpleNamespace(ended=False)
    ended_when_polled: list[bool] = []

    def end() -> None:
        loops.ended = True

    parts: dict[str, Any] = {
        "process": SimpleNamespace(done=lambda: loops.ended),
        "watcher": SimpleNamespace(poll=lambda: ended_when_polled.append(loops.ended)),
        "tracing": SimpleNamespace(collect=end),
    }
    run = _Run(SpinSettings((0,), 1), **parts)
    stopper: Any = SimpleNamespace(wait_until=lambda moment_ns: False)
    run.wait(stopper)
    assert ended_when_polled[-1]
    assert not any(ended_when_polled[:-1])
