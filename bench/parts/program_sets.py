"""Part 10: what the programs of each set cost, beside each other and beside empty ones.

What tells sets and builds apart is 5 to 50 ns. So their programs are held and take turns that lie
0.1 to 0.2 s apart, see ``bench.held``. A round is a start of all sets. The threads of the tools are
not in it: complete tools are compared with their peers in parts 1, 9, 11 and 13.

``redis GET`` is what the programs take from a real program. Part 11 has the complete tool there,
and no interval of its own that is narrow enough to tell two sets apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from bench.estimate import Estimate, estimate, median, ratio_of_medians
from bench.exchanges import KINDS, SINGLE_PERCENTILE, STEADY_PERCENTILE, running_exchanges
from bench.held import Holdable
from bench.parts import Part, PartResult, Plan, Target
from bench.parts.unwatched import elsewhere
from bench.requests import running_requests
from bench.starts import Costs, TurnLoad, take_starts
from bench.table import Table, with_interval
from bench.tools import Setting
from bench.tools.empty_programs import CHEAP_FLOOR, FLOOR, LOCAL_FLOOR
from bench.tools.noisetop import OTHER, RECORD, Record
from bench.victim import Load, Victim
from bench.workloads import Place
from bench.workloads.redis import GET

LOCAL, CHEAP = f"{RECORD} --local", f"{RECORD} --cheap"
SETS: tuple[Holdable, ...] = (
    Record(),
    Record(LOCAL, options=("--local",)),
    Record(CHEAP, options=("--cheap",), per_interruption=1.0),
    FLOOR,
    LOCAL_FLOOR,
    CHEAP_FLOOR,
)
COMPARED = (
    (RECORD, FLOOR.name),
    (LOCAL, LOCAL_FLOOR.name),
    (CHEAP, CHEAP_FLOOR.name),
    (LOCAL, RECORD),
    (CHEAP, RECORD),
    (CHEAP_FLOOR.name, RECORD),
    (RECORD, OTHER),
)
"""The last but one is what no set without callbacks can get below; the last one is there where
another checkout is."""
IPIS = Load("ipi-20k", "ipi", 20_000, 40)
TURNS = {IPIS.name: 16}
"""Of a set in a start, by load, so that a start takes little more than a minute."""
OTHER_TURNS = 10
"""Under each other load. One turn is told to some 30 ns under exchanges and to 200 ns under
``ipi-20k``; what more turns gain is soon less than the 20 ns by which starts differ."""
FEWEST_GAPS, TRIES = 100, 3
"""Of a period: of a few gaps no percentile means much."""
FLOOR_LIMIT, CHEAP_LIMIT = 1.25, 0.7
LIMITS = {
    (IPIS.name, RECORD, FLOOR.name): FLOOR_LIMIT,
    ("datagram", RECORD, FLOOR.name): FLOOR_LIMIT,
    ("timer", RECORD, FLOOR.name): FLOOR_LIMIT,
    ("unwatched datagram", RECORD, FLOOR.name): FLOOR_LIMIT,
    ("unwatched timer", RECORD, FLOOR.name): FLOOR_LIMIT,
    (IPIS.name, CHEAP, RECORD): CHEAP_LIMIT,
}
"""By load and sets: near the floor, and worth the loss of detail."""


@dataclass(frozen=True, slots=True)
class ProgramSets:
    """The part."""

    number: int = 10
    name: str = "program_sets"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """Starts with the CPU of the loads watched, and with the other one."""
        others = (one for one in plan.tools if isinstance(one, Record) and one.name == OTHER)
        with places_of(plan) as places:
            return result_of(take_starts((*SETS, *others), places, plan.rounds))


@contextmanager
def places_of(plan: Plan) -> Iterator[dict[Setting, list[TurnLoad]]]:
    """The loads that go with each setting; their programs run on the same CPU in both, or wait."""
    setting = plan.setting
    place = Place(setting.cpu, setting.housekeeping, setting.folder)
    with running_exchanges(setting.cpu, setting.folder) as exchanges:

        def exchanged(prefix: str = "") -> Iterator[TurnLoad]:
            for kind in KINDS:
                yield turn_load(f"{prefix}{kind}", partial(exchanges.period_ns, kind))

        watched = [disturbed(plan.victim, IPIS), *exchanged()]
        unwatched = list(exchanged("unwatched "))
        places = {setting: watched, elsewhere(setting): unwatched}
        if GET.missing:
            print(f"bench: {GET.name} left out: not installed, {GET.install}", file=sys.stderr)
            yield places
            return
        with running_requests(place) as requests:
            watched.append(turn_load(GET.name, requests.period_ns))
            yield places


def disturbed(victim: Victim, load: Load) -> TurnLoad:
    """The victim under a load; it is asked again where a period had hardly a gap."""

    def period_ns() -> float:
        for _ in range(TRIES):
            spin = victim.spin(load)
            if len(spin.gaps_ns) >= FEWEST_GAPS:
                break
        return spin.steady_ns(SINGLE_PERCENTILE)

    return turn_load(load.name, period_ns)


def turn_load(name: str, period_ns: Callable[[], float]) -> TurnLoad:
    """With the turns that it takes."""
    return TurnLoad(name, TURNS.get(name, OTHER_TURNS), period_ns)


def result_of(costs: Costs) -> PartResult:
    """What each set adds, and what that is to the floor, to the complete set and to the other
    checkout."""
    sets = list(next(iter(costs.values())))
    added = {
        load: {name: [cost.added_ns for cost in starts] for name, starts in by_set.items()}
        for load, by_set in costs.items()
    }
    compared = [pair for pair in COMPARED if set(pair) <= set(sets)]
    ratios = {
        ratio_name(load, *pair): estimate(ratio_of_medians, *(by_set[name] for name in pair))
        for load, by_set in added.items()
        for pair in compared
    }
    return PartResult(
        figures={
            load: {name: figures_of(starts) for name, starts in by_set.items()}
            for load, by_set in added.items()
        },
        tables=(table_of(added, costs), ratio_table(ratios, list(costs), compared)),
        ratios=ratios,
        targets=tuple(
            Target(ratio_name(*key), ratios[ratio_name(*key)], limit)
            for key, limit in LIMITS.items()
        ),
    )


def ratio_name(load: str, one: str, base: str) -> str:
    """What the results call a ratio."""
    return f"program_sets/{load}/{one} : {base}"


def figures_of(starts: Sequence[float]) -> dict[str, object]:
    """The estimate, and each start."""
    return {
        "added_ns": estimate(median, starts).as_json(),
        "by_start_ns": [round(one, 1) for one in starts],
    }


def table_of(added: Mapping[str, Mapping[str, Sequence[float]]], costs: Costs) -> Table:
    """A row for each set, and one for what there is without any; a column for each load."""
    sets = list(next(iter(added.values())))
    starts = [[cost.without_ns for cost in by_set[sets[0]]] for by_set in costs.values()]
    without = [with_interval(estimate(median, one), digits=0) for one in starts]
    rows = [
        (
            name,
            *(with_interval(estimate(median, by_set[name]), digits=0) for by_set in added.values()),
        )
        for name in sets
    ]
    return Table(
        "Added time by set of programs, ns",
        ("programs", *added),
        (("none: the gap, round trip or request", *without), *rows),
        f"Median of {len(starts[0])} starts, each of its quiet turns and the quiet periods around "
        f"them. Of a period the {STEADY_PERCENTILE}th percentile counts, "
        f"and of single IPIs and timers the {SINGLE_PERCENTILE}nd. Unwatched: the same CPU while "
        "only the other one is watched. What the threads of a tool take is not in it.",
    )


def ratio_table(
    ratios: Mapping[str, Estimate], loads: Sequence[str], compared: Sequence[tuple[str, str]]
) -> Table:
    """A row for each comparison, a column for each load."""
    return Table(
        "Added time, one set : another",
        ("ratio", *loads),
        tuple(
            (
                f"{one} : {base}",
                *(with_interval(ratios[ratio_name(load, one, base)]) for load in loads),
            )
            for one, base in compared
        ),
        f"`{CHEAP_FLOOR.name} : {RECORD}` is what no set that leaves out callbacks can get below.",
    )


PART: Part = ProgramSets()
