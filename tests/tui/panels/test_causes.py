"""The causes, diagnosed while somebody looks at them."""

from __future__ import annotations

from dataclasses import replace

from noisetop.diagnosis import diagnose
from noisetop.tui.panels.causes import Causes
from tests.builders import FakeFeed
from tests.diagnosis.cases import share
from tests.diagnosis.test_rules import evidence
from tests.tui.driving import RCU, busy, dashboard, overlay, screen, shown


async def test_causes_are_collected_while_the_panel_is_open() -> None:
    feed = FakeFeed(busy())
    async with dashboard(feed, (80, 24)) as (app, pilot):
        await shown(app, pilot)
        assert "d causes" in screen(app)
        assert not feed.diagnosing
        await pilot.press("d")
        assert isinstance(overlay(app), Causes)
        assert feed.diagnosing
        assert "collecting data" in screen(app)
        found = diagnose(evidence(share(*RCU, net_ns=1_000_000), share("thread", "\x1b[2Jx")))
        feed.push(replace(busy(2), diagnosis=found))
        await shown(app, pilot, 2)
        text = screen(app)
        assert "Causes over 1.00 s: Enter shows one  (Esc closes)" in text
        assert "1.00 ms/s  99 %  RCU callbacks run on this CPU" in text
        assert "rcu_nocbs=2-3 on the kernel command line" in text
        await pilot.press("escape")
        assert not isinstance(overlay(app), Causes)
        assert not feed.diagnosing


async def test_with_stacks_the_functions_of_a_program_stand_below_the_causes() -> None:
    feed = FakeFeed(busy())
    async with dashboard(feed, (80, 24)) as (app, pilot):
        await pilot.press("d")
        barrier = share("ipi", "call_function", "ipi_mb", sender="java", net_ns=1_000)
        barrier = replace(barrier, user_stack=("send (a.c:7)", "\x1b[2Jmain (a.c:9)"))
        feed.push(replace(busy(2), diagnosis=diagnose(evidence(barrier))))
        await shown(app, pilot, 2)
        assert "java 4711: send (a.c:7) ← \\x1b[2Jmain (a.c:9)" in screen(app)


async def test_one_at_length_and_its_command_in_the_clipboard() -> None:
    feed = FakeFeed(busy())
    diagnosis = diagnose(evidence(share(*RCU, net_ns=1_000_000), share("thread", "\x1b[2Jx")))
    first, *_ = diagnosis.findings
    command = "echo 2 > '/sys/\x1b[2J'"
    typed = replace(first, remedy=command, shell=True)
    prose = replace(first, cause="another", remedy="leave it\x1b[2J", shell=False)
    found = replace(diagnosis, findings=(typed, prose))
    async with dashboard(feed, (100, 30)) as (app, pilot):
        await pilot.press("d")
        feed.push(replace(busy(2), diagnosis=found))
        await shown(app, pilot, 2)
        await pilot.press("enter")
        assert "undo" in screen(app)
        assert "to confirm" in screen(app)
        await pilot.press("y")
        assert app.clipboard == "echo 2 > '/sys/\\x1b[2J'"
        (told,) = app._notifications
        assert "Effect: " in told.message
        assert "\x1b" not in told.message
        await pilot.press("escape", "down", "y")
        assert app.clipboard == "echo 2 > '/sys/\\x1b[2J'"
        assert any("is no command" in one.message for one in app._notifications)
        marked = [line for line in screen(app).splitlines() if "▶" in line]
        assert len(marked) == 1
        assert "another" in marked[0]
