"""The flame graph in a browser: what its script does."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from noisetop.events.interruption import Source
from noisetop.exporters import flamegraph
from noisetop.recording.recording import Recording
from tests.recordings import HOSTILE, interruption, recording, table
from tests.viewers.browser import report_of

pytestmark = pytest.mark.viewer

# Appended as a second script of the picture itself, so that it is opened as users open it.
_DRIVER = """<script><![CDATA[
const report = content => fetch('/report', {method: 'POST', body: JSON.stringify(content)});
const frame = name => [...document.querySelectorAll('#frames > g')]
  .find(node => node.dataset.name === name);
const visible = () => [...document.querySelectorAll('#frames > g:not(.away)')]
  .map(node => node.dataset.name);
const search = document.getElementById('search');
const type = text => { search.value = text; search.dispatchEvent(new Event('input')); };
const found = () => [...document.querySelectorAll('.found')].map(node => node.dataset.name);
const press = (key, ctrlKey) => document.dispatchEvent(
  new KeyboardEvent('keydown', {key, ctrlKey, cancelable: true}));
try {
  const seen = {all: visible()};
  type('TIMER'); seen.found = found(); seen.told = document.getElementById('found').textContent;
  type('zzz'); seen.nothing = found();
  press('f', true); seen.focused = document.activeElement === search;
  frame('softirq').dispatchEvent(new MouseEvent('click')); seen.zoomed = visible();
  seen.width = +frame('softirq').querySelector('rect').getAttribute('width');
  press('Escape', false); seen.back = visible(); seen.cleared = search.value;
  seen.texts = [...document.querySelectorAll('#frames text')].map(node => node.textContent);
  seen.scripts = document.querySelectorAll('script').length;
  report(seen);
} catch (error) { report({error: String(error)}); }
]]></script>
</svg>"""


def seen_in_browser(recorded: Recording) -> dict[str, Any]:
    out = io.BytesIO()
    flamegraph.write(recorded, out)
    page = out.getvalue().replace(b"</svg>", _DRIVER.encode())
    return dict(json.loads(report_of("a.svg", {"a.svg": page})))


def test_search_zoom_and_reset() -> None:
    rows = table(interruption(0, 3_000, source=0), interruption(5_000, 1_000, source=1))
    seen = seen_in_browser(recording(rows))
    everything = ["noise", "cpu 2", "unattributed", "timer", "local_timer", "softirq", "RCU"]
    assert sorted(seen["all"]) == sorted(everything)
    assert sorted(seen["found"]) == ["local_timer", "timer"]
    assert seen["told"] == "2 found, 75.00 %"
    assert seen["nothing"] == []
    assert seen["focused"] is True
    assert sorted(seen["zoomed"]) == sorted(["noise", "cpu 2", "unattributed", "softirq", "RCU"])
    assert seen["width"] == flamegraph.WIDTH - 20
    assert sorted(seen["back"]) == sorted(everything)
    assert seen["cleared"] == ""
    assert "local_timer" in seen["texts"]


def test_a_hostile_name_is_just_text() -> None:
    rows = table(interruption(0, 3_000, source=0))
    seen = seen_in_browser(recording(rows, sources=[Source(("softirq", HOSTILE))]))
    assert seen["scripts"] == 2  # the picture's and the test's
    assert any("<script>alert(1)" in text for text in seen["texts"])
