"""The first three causes in view, and the way from there and from a source to a remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisetop.diagnosis import Diagnosis, diagnose
from noisetop.events.trigger import Trigger
from noisetop.live.sample import Sample
from noisetop.summary.trigger_totals import TriggerSummary
from noisetop.tui.panels.cause import Cause
from noisetop.tui.panels.top_causes import TopCauses, cause_lines, top_findings
from noisetop.tui.panels.triggers import TriggerTable
from noisetop.tui.panels.who import Who
from tests.builders import START_NS, FakeFeed, cpu, sample, source, summary
from tests.diagnosis.cases import share
from tests.diagnosis.test_rules import evidence
from tests.tui.driving import RCU, busy, dashboard, overlay, screen, shown, until

FLUSH = ("ipi", "call_function", "ipi_mb")


def found() -> Diagnosis:
    return diagnose(
        evidence(
            share(*RCU, net_ns=1_000_000),
            share(*FLUSH, sender="java\x1b[2J", net_ns=500_000),
            share("irq", "36 virtio1-req.0", net_ns=200_000),
            share("nmi", "perf_event_nmi_handler", net_ns=100_000),
        )
    )


def diagnosed(seconds: int = 1) -> Sample:
    return replace(busy(seconds), diagnosis=found())


@pytest.mark.parametrize(
    ("size", "is_there"),
    [((120, 40), True), ((100, 34), True), ((99, 40), False), ((80, 24), False)],
)
async def test_they_are_in_view_where_there_is_room(size: tuple[int, int], is_there: bool) -> None:
    feed = FakeFeed(diagnosed())
    async with dashboard(feed, size) as (app, pilot):
        await shown(app, pilot)
        await pilot.pause()
        assert app.query_one(TopCauses).display is is_there
        assert feed.diagnosing is is_there
        text = screen(app)
        diagnosis = found()
        for number, finding in enumerate(diagnosis.findings[:3], 1):
            lines = cause_lines(finding, diagnosis)
            assert (f" {number} {lines.severity.mark} {lines.figures}  " in text) is is_there
            assert (lines.remedy[:30] in text) is is_there
        assert "\x1b" not in text


async def test_the_feed_diagnoses_only_while_there_is_room() -> None:
    feed = FakeFeed(diagnosed())
    async with dashboard(feed, (120, 40)) as (app, pilot):
        await shown(app, pilot)
        assert feed.diagnosing
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: not feed.diagnosing)
        await pilot.press("1")
        assert overlay(app) is None
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: feed.diagnosing)
        await pilot.press("d", "escape")
        assert feed.diagnosing


async def test_a_number_or_a_click_shows_one_at_length() -> None:
    feed = FakeFeed(diagnosed())
    async with dashboard(feed, (120, 40)) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("2")
        await until(pilot, lambda: "undo" in screen(app))
        assert isinstance(overlay(app), Cause)
        assert overlay(app).opened_on.key == found().findings[1].key  # type: ignore[union-attr]
        assert "all CPUs → remedy" in screen(app)
        # Another diagnosis has it in another place, or not at all.
        turned = replace(found(), findings=found().findings[::-1])
        feed.push(replace(busy(2), diagnosis=turned))
        await shown(app, pilot, 2)
        await until(pilot, lambda: f" {len(turned.findings) - 1}. " in screen(app))
        feed.push(replace(busy(3), diagnosis=replace(found(), findings=())))
        await shown(app, pilot, 3)
        assert "undo" in screen(app)
        await pilot.press("escape")
        assert overlay(app) is None
        feed.push(diagnosed(4))
        await shown(app, pilot, 4)
        await pilot.click(TopCauses, offset=(30, 5))
        await until(pilot, lambda: isinstance(overlay(app), Cause))
        assert overlay(app).opened_on.key == found().findings[2].key  # type: ignore[union-attr]


def test_what_is_self_inflicted_is_in_view_where_it_costs_more() -> None:
    diagnosis = found()
    findings = diagnosis.findings
    assert top_findings(findings, 3) == list(findings[:3])
    own = replace(findings[0], rule="own", own_wait=True, wait_ns=2_000_000)
    small = replace(findings[3], rule="small", own_wait=True, wait_ns=150_000)
    assert top_findings((*findings, small), 3) == list(findings[:3])
    assert top_findings((*findings, small, own), 3) == [*findings[:2], own]
    assert top_findings((own,), 3) == [own]
    assert top_findings((), 3) == []


def sent() -> Sample:
    trigger = Trigger("java", 4711, 0)
    part = TriggerSummary(trigger, 10, 50_000, 5_000)
    flush = replace(source(*FLUSH, durations_ns=[5_000] * 10), triggers=(part,))
    total = summary(cpu(1, flush), cpu(2, source(*RCU, durations_ns=[70_000])))
    by_java = replace(
        share(*FLUSH, net_ns=50_000), cpu=1, trigger=trigger, stack=("send_ipi", "main")
    )
    diagnosis = diagnose(evidence(by_java, share(*RCU, net_ns=70_000)))
    interval = summary(cpu(1), cpu(2), start_ns=START_NS)
    return replace(sample(total, interval), diagnosis=diagnosis)


async def test_from_a_cpu_to_its_remedy_and_back_step_by_step() -> None:
    async with dashboard(FakeFeed(sent()), (120, 40)) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("tab", "shift+tab")
        app.change_view(replace(app.state.view, cpu=1))
        await pilot.pause()
        assert "CPU 1 → sources by" in screen(app)
        await pilot.press("enter")
        assert isinstance(overlay(app), TriggerTable)
        label = " › ".join(FLUSH)
        assert f"CPU 1 → {label} → triggers" in screen(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(overlay(app), Who))
        await until(pilot, lambda: "send_ipi ← main" in screen(app))
        assert f"CPU 1 → {label} → java 4711" in screen(app)
        assert "remedy" in screen(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(overlay(app), Cause))
        await until(pilot, lambda: "undo" in screen(app))
        assert f"CPU 1 → {label} → java 4711 on CPU 0 → remedy" in screen(app)
        for panel in (Who, TriggerTable):
            await pilot.press("escape")
            assert isinstance(overlay(app), panel)
        await pilot.press("escape")
        assert overlay(app) is None
        assert app.state.view.cpu == 1
        await pilot.press("escape")
        assert app.state.view.cpu is None
