import json
from typing import Any

import pytest

from noisetop.counters.calibration import (
    CALIBRATION,
    KINDS,
    MEASURED,
    NONE,
    Calibration,
    EntryCost,
    taken_from,
)

TIMER = EntryCost(5_000, 4_000, 7_000, MEASURED, cold_more_ns=800)
MADE = Calibration({"timer": TIMER, "irq": EntryCost(5_000, 4_000, 7_000, taken_from("timer"))})


def stored(**changed: object) -> dict[str, object]:
    cost = {"entry_ns": 5, "spread_ns": [4, 6], "source": MEASURED} | changed
    return {"calibration": {"kinds": {"timer": cost}, "reason": ""}}


def test_goes_through_a_file() -> None:
    for value in (MADE, NONE, Calibration(reason="no CPU")):
        assert CALIBRATION.from_file(json.loads(json.dumps(CALIBRATION.to_file(value)))) == value


def test_the_cost_of_a_kind() -> None:
    assert MADE.entry("timer") == TIMER
    assert MADE.entry("nmi") is None
    assert set(MADE.kinds) < set(KINDS)


def test_as_json() -> None:
    told = CALIBRATION.as_dict(MADE)
    costs: Any = told["calibration"]
    known = {kind: one for kind, one in costs.items() if kind in MADE.kinds}
    assert costs.keys() == set(KINDS)
    assert known == {
        kind: {
            "entry_ns": 5_000,
            "cold_entry_ns": cold_ns,
            "spread_ns": [4_000, 7_000],
            "source": source,
        }
        for kind, cold_ns, source in (("timer", 5_800, "measured"), ("irq", 5_000, "from timer"))
    }
    assert told.keys() == {"calibration"}


def test_a_file_of_an_earlier_version_has_one_cost() -> None:
    assert CALIBRATION.from_file(stored()).entry("timer") == EntryCost(5, 4, 6, MEASURED)


def test_the_largest_is_that_of_a_cold_entry() -> None:
    assert MADE.most_ns == 5_800
    assert NONE.most_ns == 0


def test_json_says_why_there_is_none() -> None:
    told = CALIBRATION.as_dict(Calibration(reason="no CPU"))
    assert told == {"calibration": {}, "calibration_missing": "no CPU"}


@pytest.mark.parametrize(
    "content",
    [
        stored(entry_ns="5"),
        stored(entry_ns=True),
        stored(entry_ns=5.5),
        stored(entry_ns=-1, spread_ns=[-2, 6]),
        stored(entry_ns=7),
        stored(cold_entry_ns=4),
        stored(cold_entry_ns=10**30),
        stored(cold_entry_ns="5"),
        stored(cold_entry_ns=None),
        stored(spread_ns=[4]),
        stored(spread_ns=[4, 10**30]),
        stored(spread_ns=4),
        stored(source="from unheard of"),
        stored(source=None),
        {"calibration": {"kinds": {"timer": {}}, "reason": ""}},
        {"calibration": {"kinds": {"unheard of": TIMER}, "reason": ""}},
        {"calibration": []},
        {"calibration": None},
        {"calibration": {}},
    ],
)
def test_what_we_did_not_write(content: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        CALIBRATION.from_file(content)
