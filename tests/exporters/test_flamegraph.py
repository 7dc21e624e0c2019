from __future__ import annotations

import io
import re
from itertools import pairwise
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.losses import Losses
from noisetop.events.interruption import Interruptions, Source
from noisetop.exporters import flamegraph
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from tests.builders import side_figures
from tests.recordings import HOSTILE, everything, interruption, nested_tables, recording, table

SVG = "{http://www.w3.org/2000/svg}"


def written(recorded: Recording) -> bytes:
    out = io.BytesIO()
    flamegraph.write(recorded, out)
    return out.getvalue()


def root_of(recorded: Recording) -> ET.Element:
    return ET.fromstring(written(recorded))


def frames_of(root: ET.Element) -> list[ET.Element]:
    return root.findall(f"{SVG}g[@id='frames']/{SVG}g")


def ns_of(frame: ET.Element) -> int:
    found = re.search(r": (\d+) ns \(", frame.findtext(f"{SVG}title") or "")
    assert found
    return int(found[1])


@given(nested_tables())
def test_every_level_adds_up(rows: Interruptions) -> None:
    recorded = recording(rows)
    frames = frames_of(root_of(recorded))
    noise_ns = summary_of(recorded).noise_ns
    assert ns_of(frames[0]) == noise_ns
    of_cpus = [ns_of(frame) for frame in frames if frame.get("data-name", "").startswith("cpu ")]
    assert sum(of_cpus) == noise_ns


@given(nested_tables())
def test_frames_of_a_level_lie_side_by_side(rows: Interruptions) -> None:
    levels: dict[str, list[tuple[int, int]]] = {}
    for frame in frames_of(root_of(recording(rows))):
        y = frame.find(f"{SVG}rect").get("y", "")  # type: ignore[union-attr]
        x, width = int(frame.get("data-x", "")), int(frame.get("data-w", ""))
        levels.setdefault(y, []).append((x, x + width))
    for spans in levels.values():
        spans.sort()
        assert all(left[1] <= right[0] + 1 for left, right in pairwise(spans))


def test_the_tip_of_a_frame_has_its_figures() -> None:
    rows = table(interruption(0, 3_000), interruption(5_000, 1_000, source=1))
    tips = {
        f.get("data-name"): f.findtext(f"{SVG}title") for f in frames_of(root_of(recording(rows)))
    }
    assert tips["local_timer"] == "local_timer: 3000 ns (3.00 µs), 75.000 %"
    assert tips["noise"] == "noise: 4000 ns (4.00 µs), 100.000 %"


def test_the_head_has_period_and_losses() -> None:
    losses = Losses({2: {"ring_full": 3}})
    texts = [
        one.text or ""
        for one in root_of(recording(counters=side_figures(losses=losses))).iter(f"{SVG}text")
    ]
    assert "noise on CPU 2-3  box 6.1.0" in texts
    assert any("in 1.00 s" in text for text in texts)
    assert any("LOST 3 events" in text for text in texts)


@given(st.text(max_size=20) | st.just(HOSTILE) | st.just("]]>") | st.just("\ud800\x00"))
def test_no_name_leaves_its_place(name: str) -> None:
    source = Source(("thread", name))
    root = root_of(recording(table(interruption(0, 5)), sources=[source], metadata={"host": name}))
    assert len(list(root.iter(f"{SVG}script"))) == 1
    assert len(frames_of(root)) == 5
    assert not [key for one in root.iter() for key in one.attrib if key.startswith("on")]


def test_it_needs_nothing_from_elsewhere() -> None:
    content = written(everything()).decode()
    addresses = set(re.findall(r"https?://[^\"'\s<]+", content))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert not re.search(r"(href|src|@import|url\()", content)


def test_without_noise_there_is_still_a_picture() -> None:
    assert [ns_of(frame) for frame in frames_of(root_of(recording()))] == [0]
