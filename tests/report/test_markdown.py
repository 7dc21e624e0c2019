from __future__ import annotations

from markdown_it import MarkdownIt

from noisetop.counters.losses import Losses
from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import evidence_of
from noisetop.events.interruption import Source
from noisetop.events.trigger import Trigger
from noisetop.limits.grammar import parse_limits
from noisetop.limits.noise_figures import outcomes_of
from noisetop.recording.recording import Recording
from noisetop.report.markdown import code, markdown_lines
from noisetop.report.text import Report
from noisetop.summary.worst import summarize_with_worst
from tests.builders import side_figures
from tests.recordings import HOSTILE, everything, interruption, recording, table

MARKUP = "`|\\|``<b>**x**</b>[a](http://x)~~_y_ @me #1 www.x.y\\"


def lines_of(recorded: Recording, limits: str = "", top: int = 20) -> list[str]:
    summary, worst = summarize_with_worst(recorded, 10)
    outcomes = outcomes_of(parse_limits(limits) if limits else (), summary, worst)
    report = Report(recorded, summary, worst, diagnose(evidence_of(recorded)), (), outcomes)
    return list(markdown_lines(report, top=top))


def busy() -> Recording:
    return recording(
        table(
            interruption(1_000, 3_000, source=0),
            interruption(9_000, 5_000, source=3, trigger=3),
            interruption(90_000, 12_345, source=2, cpu=3),
        )
    )


def test_verdict_limits_and_sources() -> None:
    lines = lines_of(busy(), "single>10us,lost>0", top=1)
    assert lines == [
        "## noisetop: 1 of 2 limits exceeded",
        "",
        "| Verdict |  |",
        "| --- | --- |",
        *lines[4:9],
        "",
        "| Limit | Result | Figure | Mostly | Who |",
        "| --- | --- | --- | --- | --- |",
        "| `single>10us` | **exceeded** | 12.3 µs on CPU 3 | `irq › 36 virtio1-req.0` |  |",
        "| `lost>0` | kept | 0 |  |  |",
        "",
        "| Top source | ≈Cost | Net | Count | Max | Origin | Who |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| `irq › 36 virtio1-req.0` | - | 12.3 µs | 1 | 12.3 µs | unattributed |  |",
        "",
        "and 2 more with 8.00 µs net in total",
    ]
    assert lines[4].startswith("| noise | `0.0010 % net of the CPU time")
    assert lines[8] == "| losses | `lost 0` |"


def test_title_without_limits_and_with_all_kept() -> None:
    assert lines_of(busy())[0] == "## noisetop"
    assert lines_of(busy(), "lost>0")[0] == "## noisetop: all 1 limits kept"


def test_losses_that_may_hide_something_are_told() -> None:
    made = recording(counters=side_figures(losses=Losses({2: {"ring_full": 3}})))
    (line,) = [one for one in lines_of(made, "noise>1%") if one.startswith("**Incomplete")]
    assert "3 records were lost" in line


def test_hostile_names_have_no_meaning() -> None:
    made = recording(
        table(
            interruption(100, 1_000, source=0, trigger=1),
            interruption(5_000, 70, source=1, trigger=2),
        ),
        sources=[Source(("irq", MARKUP)), Source(("ipi", HOSTILE))],
        triggers=[Trigger(), Trigger(MARKUP, 7, 0), Trigger(HOSTILE, 8, 0)],
        damage=MARKUP,
    )
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for recorded in (made, everything()):
        lines = lines_of(recorded, "noise>0%,single>0us")
        html = renderer.render("\n".join(lines))
        for tag in ("<b>", "<script", "<a ", "<em>", "<s>", "<img"):
            assert tag not in html
        rows = [line for line in lines if line.startswith("|")]
        assert html.count("<td>") + html.count("<th>") == sum(
            line.count("|") - 1 for line in rows if "---" not in line
        )


def test_a_code_span_cannot_be_left() -> None:
    assert code("a`b|c") == "`a\\x60b\\x7cc`"
    assert code("") == code("  ") == ""
