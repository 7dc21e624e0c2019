from __future__ import annotations

import json
from typing import Any

from noisetop.events.layout import Layout
from tests.recordings import layout

BEFORE = {
    "noise_cpu_counters": "noise_books",
    "NOISE_BLOCK_KIND_COUNTERS": "NOISE_BLOCK_KIND_BOOKS",
    "NOISE_LEVEL_SIDE": "NOISE_LEVEL_APART",
    "trigger_of": "explains",
}


def as_it_was(description: dict[str, Any]) -> dict[str, Any]:
    """The same description as recordings held it that were made before the renames."""
    text = json.dumps({**description, "sources": list(description["sources"])})
    for now, then in BEFORE.items():
        assert f'"{now}"' in text
        text = text.replace(f'"{now}"', f'"{then}"')
    old: dict[str, Any] = json.loads(text)
    return old


def test_a_description_with_the_names_of_before_is_the_same_layout() -> None:
    now, old = layout(), Layout(as_it_was(layout().description))
    assert old.kinds == now.kinds
    assert any(kind.trigger_of for kind in old.kinds.values())
    assert old.block_kinds == now.block_kinds
    assert old.dtype("noise_cpu_counters") == now.dtype("noise_cpu_counters")
    assert old.description["enums"] == now.description["enums"]


def test_a_description_with_the_names_of_today_is_kept() -> None:
    description = json.loads(json.dumps(layout().description))
    assert Layout(description).description == description


def test_every_enum_that_records_refer_to_is_described() -> None:
    assert {
        "noise_flag",
        "noise_level",
        "noise_wait",
        "noise_context",
        "noise_victims",
        "noise_waker",
        "noise_loss",
        "noise_tick",
        "noise_identity",
    } <= set(layout().description["enums"])
