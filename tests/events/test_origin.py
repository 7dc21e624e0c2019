"""Whose doing an interruption was, by what ran and who caused it."""

from __future__ import annotations

import numpy as np
import pytest

from noisetop.counters.left_out import CHEAP, LOCAL, TIMERS
from noisetop.events.interruption import INTERRUPTION, Source
from noisetop.events.origin import Origin, OriginJoin
from noisetop.events.task_names import TaskInfo, TaskNames
from noisetop.events.trigger import Trigger

VICTIM, SIBLING, OTHER, KERNEL, GONE = 100, 101, 200, 15, 999
INFOS = {
    VICTIM: TaskInfo(tgid=100, parent=1, kernel=False, cgroup=0),
    SIBLING: TaskInfo(tgid=100, parent=1, kernel=False, cgroup=0),
    OTHER: TaskInfo(tgid=200, parent=1, kernel=False, cgroup=0),
    KERNEL: TaskInfo(tgid=15, parent=2, kernel=True, cgroup=0),
}
IPI = ("ipi", "call_function_single", "ipi_mb")
NET_RX, TIMER = ("softirq", "NET_RX"), ("timer", "local_timer", "hrtimer_wakeup")
WORK = ("thread", "kworker/1:1", "vmstat_update")

CASES = [
    (("irq", "36 virtio0"), Trigger(), 0, Origin.DEVICE),
    (("nmi", "perf"), Trigger(), 0, Origin.KERNEL),
    (("hardware", "steal"), Trigger(), 0, Origin.OUTSIDE),
    (("fault", "major"), Trigger(), 0, Origin.SELF),
    (IPI, Trigger("other", OTHER, 0), 0, Origin.OTHERS),
    (IPI, Trigger("sibling", SIBLING, 0), 0, Origin.PROGRAM),
    (IPI, Trigger("kswapd0", KERNEL, 0), 0, Origin.KERNEL),
    (IPI, Trigger("kworker/0:1", KERNEL, 0, work="f", origin="other 200"), 0, Origin.OTHERS),
    (IPI, Trigger("gone", GONE, 0), 0, Origin.UNATTRIBUTED),
    (IPI, Trigger(), 0, Origin.UNATTRIBUTED),
    (IPI, Trigger(context="an interrupt", began="irq"), 0, Origin.DEVICE),
    (IPI, Trigger(context="the idle loop"), 0, Origin.KERNEL),
    (("timer", "local_timer"), Trigger(), 0, Origin.KERNEL),
    (TIMER, Trigger(context="tick"), 0, Origin.KERNEL),
    (TIMER, Trigger("victim", VICTIM, 1), 0, Origin.SELF),
    (TIMER, Trigger(context="a softirq", tid=VICTIM), 0, Origin.SELF),
    (TIMER, Trigger(), 0, Origin.UNATTRIBUTED),
    (NET_RX, Trigger("victim", VICTIM, 1), 0, Origin.SELF),
    (NET_RX, Trigger(context="softirq 3", tid=VICTIM), 0, Origin.SELF),
    (NET_RX, Trigger(context="irq 36", began="irq"), 0, Origin.DEVICE),
    (NET_RX, Trigger(context="call_function_single", began="ipi"), 0, Origin.OTHERS),
    (NET_RX, Trigger("migration/1", KERNEL, 1), 0, Origin.OTHERS),
    (NET_RX, Trigger(context="the idle loop", cpu=1), 0, Origin.OTHERS),
    (("softirq", "RCU"), Trigger("victim", VICTIM, 1), 0, Origin.KERNEL),
    (("softirq", "BLOCK"), Trigger("migration/1", KERNEL, 1), 0, Origin.DEVICE),
    (("softirq", "BLOCK"), Trigger(context="call_function", began="ipi"), 0, Origin.DEVICE),
    (("thread", "other"), Trigger("victim", VICTIM, 1), OTHER, Origin.OTHERS),
    (("thread", "self", "sibling"), Trigger(), SIBLING, Origin.PROGRAM),
    (("thread", "kswapd0"), Trigger("other", OTHER, 0), KERNEL, Origin.KERNEL),
    (("thread", "migration/1"), Trigger("other", OTHER, 0), KERNEL, Origin.OTHERS),
    (("thread", "throttled"), Trigger(), 0, Origin.KERNEL),
    (WORK, Trigger("other", OTHER, 0), KERNEL, Origin.OTHERS),
    (WORK, Trigger(), KERNEL, Origin.KERNEL),
    (("thread", "somebody"), Trigger(), GONE, Origin.UNATTRIBUTED),
]


@pytest.mark.parametrize(("path", "trigger", "ran", "expected"), CASES)
def test_the_origin(path: tuple[str, ...], trigger: Trigger, ran: int, expected: Origin) -> None:
    names = TaskNames(infos=dict(INFOS))
    triggers = [Trigger()] if trigger == Trigger() else [Trigger(), trigger]
    table = np.zeros(1, INTERRUPTION)
    table["trigger"], table["victim_tid"] = len(triggers) - 1, VICTIM
    table["tid"] = ran or VICTIM if path[0] != "thread" else ran
    found = OriginJoin([Source(path)], triggers, names).origins(table)
    assert Origin(int(found[0])) is expected


@pytest.mark.parametrize(
    ("path", "trigger", "option", "expected"),
    [
        (("timer", "local_timer"), Trigger(), LOCAL, Origin.UNATTRIBUTED),
        (("timer", "local_timer"), Trigger(context="tick"), LOCAL, Origin.KERNEL),
        (("timer", "local_timer"), Trigger(), CHEAP, Origin.UNATTRIBUTED),
        (("softirq", "TIMER"), Trigger("victim", VICTIM, 1), CHEAP, Origin.UNATTRIBUTED),
        (("timer", "local_timer"), Trigger(), TIMERS, Origin.UNATTRIBUTED),
        (("softirq", "TIMER"), Trigger("victim", VICTIM, 1), TIMERS, Origin.UNATTRIBUTED),
        (WORK, Trigger(), LOCAL, Origin.UNATTRIBUTED),
        (("softirq", "RCU"), Trigger(), LOCAL, Origin.KERNEL),
    ],
)
def test_who_was_not_asked_for_is_nobody(
    path: tuple[str, ...], trigger: Trigger, option: str, expected: Origin
) -> None:
    """Not the kernel: somebody armed or queued it."""
    names = TaskNames(infos=dict(INFOS))
    table = np.zeros(1, INTERRUPTION)
    table["trigger"], table["victim_tid"] = bool(trigger != Trigger()), VICTIM
    table["tid"] = KERNEL if path[0] == "thread" else VICTIM
    join = OriginJoin([Source(path)], [Trigger(), trigger], names, frozenset({option}))
    assert Origin(int(join.origins(table)[0])) is expected


def test_a_name_that_is_told_late_counts_from_then_on() -> None:
    names = TaskNames()
    join = OriginJoin([Source(IPI)], [Trigger(), Trigger("other", OTHER, 0)], names)
    table = np.zeros(1, INTERRUPTION)
    table["trigger"], table["victim_tid"] = 1, VICTIM
    assert join.origins(table).tolist() == [Origin.UNATTRIBUTED]
    names.infos |= INFOS
    names.version += 1
    assert join.origins(table).tolist() == [Origin.OTHERS]


@pytest.mark.parametrize("path", [("thread", "kcompactd0"), WORK])
def test_what_runs_on_an_idle_cpu_is_the_kernels_before_it_is_named(path: tuple[str, ...]) -> None:
    """The records tell its name and kind when somebody waits for it, perhaps much later."""
    names = TaskNames()
    join = OriginJoin([Source(path)], [Trigger()], names)
    table = np.zeros(1, INTERRUPTION)
    table["tid"] = KERNEL
    before = join.origins(table).tolist()
    names.infos |= INFOS
    names.version += 1
    assert before == join.origins(table).tolist() == [Origin.KERNEL]
