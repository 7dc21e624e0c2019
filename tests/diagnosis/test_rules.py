"""Every rule fires on what it is meant for, and on nothing that another rule is meant for."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from noisetop.counters.calibration import EntryCost
from noisetop.counters.left_out import BUDGET, CHEAP, LOCAL, NOTHING, TIMERS, Budget, LeftOut
from noisetop.diagnosis import Diagnosis, all_rules, diagnose, page
from noisetop.diagnosis.evidence import Evidence, Realtime, Share
from noisetop.diagnosis.finding import Rule
from noisetop.events.origin import Origin
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger
from noisetop.events.waits import TaskWait
from tests.diagnosis.cases import CASES, START_NS, Case, share
from tests.recordings import HOSTILE

SECOND_NS = 1_000_000_000
NOBODY = Realtime()
TICK = ("timer", "local_timer", "tick_nohz_handler")
FUNCTIONS = {
    "nameless-function",
    "other-program",
    "page-fault",
    "quota",
    "realtime-program",
    "realtime-throttled",
    "tick-everywhere",
    "tick-for-a-profiler",
    "tick-for-a-timer",
    "tick-for-an-unstable-clock",
    "tick-for-cpu-timers",
    "tick-for-rcu",
    "tick-for-the-scheduler",
    "tick-for-two-programs",
    "tick-kept-alive",
    "contention",
    "functions-left-out",
    "woken-late",
}
"""Rules that look at more than one share; they have tests of their own."""


def evidence(
    *shares: Share,
    nohz_full: frozenset[int] = frozenset(),
    realtime: Realtime | None = NOBODY,
    waits: dict[int, TaskWait] | None = None,
    tick_stops: dict[int, dict[str, int]] | None = None,
    left_out: LeftOut = NOTHING,
) -> Evidence:
    return Evidence(
        shares=shares,
        duration_ns=SECOND_NS,
        start_ns=START_NS,
        cpus=(2, 3),
        online=(0, 1, 2, 3),
        nohz_full=nohz_full,
        realtime=realtime,
        waits=waits or {},
        tick_stops=dict(tick_stops or {}),
        left_out=left_out,
    )


def names(diagnosis: Diagnosis) -> list[str]:
    return [finding.rule for finding in diagnosis.findings]


def test_every_rule_has_a_case_or_tests_of_its_own() -> None:
    assert {case.rule for case in CASES} | FUNCTIONS == {rule.name for rule in all_rules()}
    assert {case.rule for case in CASES}.isdisjoint(FUNCTIONS)


def test_there_are_more_than_sixty_rules() -> None:
    assert len(all_rules()) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_the_rule_that_is_meant_claims_it(case: Case) -> None:
    diagnosis = diagnose(evidence(case.share))
    assert names(diagnosis) == [case.rule]
    assert diagnosis.unexplained == ()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_without_its_share_the_rule_is_silent(case: Case) -> None:
    """Rules that are asked after it change nothing for it."""
    others = [other.share for other in CASES if other.rule != case.rule]
    asked = [rule.name for rule in all_rules()].index(case.rule) + 1
    assert case.rule not in names(diagnose(evidence(*others), all_rules()[:asked]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_texts_are_filled_in(case: Case) -> None:
    for named in (
        case.share,
        replace(case.share, trigger=Trigger(case.share.trigger.task or "app", 1)),
    ):
        (finding,) = diagnose(evidence(named)).findings
        texts = (finding.cause, finding.remedy, finding.undo, finding.confirm, finding.effect)
        assert not any(re.search(r"\{\w+\}", text) for text in texts)
        assert all(texts[:4])
        assert "\n" not in "".join(texts)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_first_line_is_short_and_plain(rule: Rule) -> None:
    assert len(rule.cause) <= 100
    assert not rule.cause.endswith(".")
    assert not re.search(r"csd|kthread|hrtimer", rule.cause)
    assert rule.source
    assert rule.seen_as


def test_what_no_event_accounts_for_is_not_explained() -> None:
    """A victim that waited 204 ms beside 13 ms of known noise: that is no 100 %."""
    waited = share("thread", "unattributed", net_ns=204_000_000)
    diagnosis = diagnose(evidence(waited, share("softirq", "RCU", net_ns=13_000_000)))
    assert names(diagnosis) == ["rcu-callbacks"]
    assert diagnosis.unexplained == (waited,)
    assert (diagnosis.explained_ns, diagnosis.unexplained_ns) == (13_000_000, 204_000_000)
    assert "Explained 13.0 ms (6.0 %)" in " ".join(page.page_lines(diagnosis))


def test_what_nothing_knows_is_not_explained() -> None:
    unknown = share("novel", "thing", net_ns=77)
    diagnosis = diagnose(evidence(unknown, share("softirq", "RCU", net_ns=33)))
    assert names(diagnosis) == ["rcu-callbacks"]
    assert diagnosis.unexplained == (unknown,)
    assert (diagnosis.explained_ns, diagnosis.unexplained_ns) == (33, 77)


def test_the_interrupt_goes_with_what_it_ran() -> None:
    inner = share(*TICK, net_ns=300, count=10)
    around = share("timer", "local_timer", ran=TICK, net_ns=700, count=10)
    (finding,) = diagnose(evidence(inner, around)).findings
    assert (finding.rule, finding.net_ns, finding.count) == ("tick-everywhere", 1000, 10)


def test_tick_where_it_may_stop() -> None:
    regular = share(*TICK, period_ns=4_000_000)
    other = share("thread", "intruder")
    quiet = frozenset({2})
    assert names(diagnose(evidence(share(*TICK), nohz_full=frozenset({3})))) == ["tick-everywhere"]
    assert names(diagnose(evidence(regular, nohz_full=quiet))) == ["tick-kept-alive"]
    assert sorted(names(diagnose(evidence(regular, other, nohz_full=quiet)))) == [
        "other-program",
        "tick-for-two-programs",
    ]
    for rare in (share(*TICK), share(*TICK, period_ns=SECOND_NS)):
        assert names(diagnose(evidence(rare, nohz_full=quiet))) == ["tick-for-a-timer"]


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        ("posix_timer", "tick-for-cpu-timers"),
        ("perf_events", "tick-for-a-profiler"),
        ("scheduler", "tick-for-two-programs"),
        ("clock_unstable", "tick-for-an-unstable-clock"),
        ("rcu", "tick-for-rcu"),
        ("rcu_expedited", "tick-for-rcu"),
        ("other", "tick-kept-alive"),
    ],
)
def test_the_kernel_says_what_keeps_the_tick(reason: str, rule: str) -> None:
    """And is believed, whatever else was seen on the CPU."""
    stops = {2: {"stopped": 9, "rcu": 1, reason: 7}, 3: {"stopped": 1}}
    shares = share(*TICK, period_ns=4_000_000), share("thread", "intruder")
    found = names(diagnose(evidence(*shares, nohz_full=frozenset({2}), tick_stops=stops)))
    assert sorted(found) == sorted(["other-program", rule])


def test_the_schedulers_reason_needs_no_second_program() -> None:
    alone = evidence(
        share(*TICK, period_ns=4_000_000),
        nohz_full=frozenset({2}),
        tick_stops={2: {"stopped": 0, "scheduler": 7}},
    )
    assert names(diagnose(alone)) == ["tick-for-the-scheduler"]


def test_the_ticks_timer_for_others_is_no_tick() -> None:
    wheel = share("timer", "local_timer", ran=("timer", "local_timer", "timer_wheel"))
    assert names(diagnose(evidence(wheel, nohz_full=frozenset({2})))) == ["tick-for-a-timer"]


def test_programs_by_priority() -> None:
    app = share("thread", "app")
    assert names(diagnose(evidence(app))) == ["other-program"]
    assert names(diagnose(evidence(app, realtime=Realtime(frozenset({"app"}))))) == [
        "realtime-program"
    ]
    unknown = diagnose(evidence(app, realtime=None))
    assert names(unknown) == ["other-program"]
    ((rule, reason),) = unknown.unsure
    assert rule.name == "realtime-program"
    assert reason.needs.startswith("needs ")


def test_programs_that_compete_are_one_finding() -> None:
    shares = share("thread", "ls", net_ns=5), share("thread", "app", net_ns=9)
    (finding,) = diagnose(evidence(*shares, share("thread", "ls", cpu=3, net_ns=6))).findings
    assert finding.key == "other-program"
    assert finding.cause == "Other programs compete with your program for this CPU: ls, app"
    assert [(one.label, one.net_ns) for one in finding.culprits] == [("ls", 11), ("app", 9)]
    assert "pgrep -wx -- 'ls|app'" in finding.remedy
    many = [share("thread", f"p{number}", net_ns=100 - number) for number in range(30)]
    (finding,) = diagnose(evidence(*many)).findings
    assert finding.cause.endswith(": p0, p1, p2 and 27 more")


def test_what_takes_the_cpu_from_a_realtime_victim() -> None:
    """For a millisecond or more only the kernel can; for less it is a task that was about to go."""
    slice_of = replace(share("thread", "app", net_ns=50_000_000), max_ns=5_000_000, urgent=True)
    throttled = replace(share("thread", "throttled", net_ns=10), urgent=True)
    (finding,) = diagnose(evidence(slice_of, throttled)).findings
    assert finding.rule == "realtime-throttled"
    assert finding.cause.endswith(": app")
    (finding,) = diagnose(evidence(throttled)).findings
    assert finding.cause == "The kernel throttles your real-time program"
    for other in (
        replace(slice_of, max_ns=20_000),
        replace(slice_of, urgent=False),
    ):
        assert names(diagnose(evidence(other))) == ["other-program"]
    urgent = evidence(slice_of, realtime=Realtime(frozenset({"app"})))
    assert names(diagnose(urgent)) == ["realtime-program"]


BARRIER = ("ipi", "call_function_single", "ipi_mb")


@pytest.mark.parametrize(
    ("function", "origin", "rule"),
    [
        ("membarrier_global_expedited.isra.0", Origin.UNATTRIBUTED, "membarrier-global"),
        ("membarrier_global_expedited", Origin.PROGRAM, "membarrier-global"),
        ("membarrier_private_expedited", Origin.OTHERS, "membarrier"),
        ("__x64_sys_membarrier", Origin.OTHERS, "membarrier-global"),
        ("__x64_sys_membarrier", Origin.PROGRAM, "membarrier"),
        ("__x64_sys_membarrier", Origin.UNATTRIBUTED, "membarrier"),
    ],
)
def test_a_global_barrier_is_told_from_a_private_one(
    function: str, origin: Origin, rule: str
) -> None:
    """By the sender's stack, else by its process: a private one reaches that alone."""
    one = share(*BARRIER, sender="java", stack=(function,), origin=origin)
    (finding,) = diagnose(evidence(one)).findings
    assert finding.key == f"{rule}:java"
    assert ("REGISTER_GLOBAL_EXPEDITED" in finding.remedy) == (rule == "membarrier-global")


def test_self_inflicted_noise_comes_last() -> None:
    own = share("softirq", "NET_RX", sender="app", net_ns=900, origin=Origin.SELF)
    tick = share(*TICK, net_ns=5, origin=Origin.KERNEL)
    diagnosis = diagnose(evidence(own, tick))
    assert [one.key for one in diagnosis.findings] == ["tick-everywhere", "loopback:app"]
    assert [one.is_own for one in diagnosis.findings] == [False, True]
    assert (diagnosis.external_ns, diagnosis.own_ns, diagnosis.lost_ns) == (5, 900, 905)


def test_findings_are_ranked_by_what_they_cost() -> None:
    """2640 IPIs of 0.2 µs cost more than 10 interruptions of 100 µs: some 6 µs each."""
    calibrated = EntryCost(6_000, 5_000, 7_000, "measured")
    barrier = share(*BARRIER, sender="java", count=2640, net_ns=528_000)
    barrier = replace(barrier, entries=2640, entry=calibrated)
    device = replace(share("irq", "36 foo", count=10, net_ns=1_000_000), entries=10)
    device = replace(device, entry=calibrated)
    first, second = diagnose(evidence(barrier, device)).findings
    assert (first.rule, first.net_ns, first.cost_ns) == ("membarrier", 528_000, 16_368_000)
    assert (second.rule, second.cost_ns) == ("device-interrupt", 1_060_000)
    assert first.estimated


def test_the_process_that_caused_it_is_filled_in() -> None:
    work = share("thread", "kworker/2:1", "driver_work_fn", sender="app")
    infos = {4711: TaskInfo(4700, 1, kernel=False, cgroup=0)}
    assert "taskset -pc 0-1 PID" in diagnose(evidence(work)).findings[0].remedy
    known = replace(evidence(work), directory=TaskDirectory(infos=infos))
    assert "taskset -pc 0-1 4700" in diagnose(known).findings[0].remedy
    measured = replace(known, victims=(4700,))
    assert "taskset -pc 0-1 PID" in diagnose(measured).findings[0].remedy
    waits = {7: TaskWait({"woken": 4}, {"woken": SECOND_NS // 100}, 5_000)}
    (late,) = diagnose(replace(evidence(waits=waits), victims=(4700,))).findings
    assert late.undo == "chrt -o -p 0 4700"


def test_a_realtime_name_takes_no_thread_of_the_kernel() -> None:
    worker = share("thread", "kworker/2:1", "vmstat_update")
    found = names(diagnose(evidence(worker, realtime=Realtime(frozenset({"kworker/2:1"})))))
    assert found == ["memory-statistics"]


@pytest.mark.parametrize(
    "path",
    [
        ("timer", "local_timer"),
        ("ipi", "call_function_single"),
        ("softirq", "TASKLET"),
        ("thread", "ksoftirqd/2", "TIMER"),
    ],
)
def test_what_was_not_traced_is_not_told_as_absent(path: tuple[str, ...]) -> None:
    """An interrupt whose functions were left out may have run any of them."""
    cheap = LeftOut((CHEAP,), ("functions of timers and tasklets",))
    found = diagnose(evidence(share(*path), left_out=cheap))
    assert names(found) == ["functions-left-out"]
    assert path[-1] in found.findings[0].cause
    assert "Left out: --cheap: unknown are functions of timers" in " ".join(page.page_lines(found))
    for other in (LeftOut((LOCAL,), ("who sends interrupts",)), NOTHING):
        assert "functions-left-out" not in names(diagnose(evidence(share(*path), left_out=other)))
    timers = LeftOut((BUDGET,), ("functions of timers",), Budget(1, (TIMERS,)))
    told = names(diagnose(evidence(share(*path), left_out=timers)))
    assert ("functions-left-out" in told) == (path[0] != "ipi")
    named = share("ipi", "call_function_single", "ipi_mb")
    assert names(diagnose(evidence(named, left_out=cheap))) == ["membarrier"]


def test_cannot_tell_only_where_it_matters() -> None:
    assert diagnose(evidence(share("softirq", "RCU"), realtime=None)).unsure == ()


@pytest.mark.parametrize("name", ["throttled", "swapper/2"])
def test_quota_with_what_was_waited(name: str) -> None:
    waits = {7: TaskWait({"throttled": 3}, {"throttled": 9_000}, 5_000)}
    (finding,) = diagnose(evidence(share("thread", name, net_ns=500), waits=waits)).findings
    assert (finding.rule, finding.net_ns, finding.wait_ns, finding.wait_count) == (
        "quota",
        500,
        9_000,
        3,
    )
    assert finding.cost_ns == 9_000


def test_waits_that_are_no_noise_count_as_lost() -> None:
    waits = {7: TaskWait({"woken": 4}, {"woken": SECOND_NS // 100}, 5_000)}
    diagnosis = diagnose(evidence(waits=waits))
    assert names(diagnosis) == ["woken-late"]
    assert diagnosis.explained_ns == diagnosis.lost_ns == SECOND_NS // 100
    assert names(diagnose(replace(evidence(waits=waits), accounted=True))) == []
    short = {7: TaskWait({"woken": 4}, {"woken": SECOND_NS // 2000}, 5_000)}
    assert names(diagnose(evidence(waits=short))) == []
    assert names(diagnose(evidence())) == []


def test_one_finding_for_each_device_and_sender() -> None:
    diagnosis = diagnose(
        evidence(
            share("irq", "36 foo", net_ns=3),
            share("irq", "37 bar", net_ns=5),
            share("irq", "36 foo", cpu=3, net_ns=7),
            share("ipi", "call_function", "ipi_mb", sender="java", net_ns=4),
            share("ipi", "call_function", "ipi_mb", sender="go", net_ns=2),
        )
    )
    assert [(one.key, one.net_ns) for one in diagnosis.findings] == [
        ("device-interrupt:36 foo", 10),
        ("device-interrupt:37 bar", 5),
        ("membarrier:java", 4),
        ("membarrier:go", 2),
    ]
    assert "/proc/irq/36/" in diagnosis.findings[0].remedy
    assert "echo 0-1 >" in diagnosis.findings[0].remedy


def test_suffixes_of_compilers_do_not_matter() -> None:
    flush = share(
        "ipi", "call_function", "flush_tlb_func.isra.0", stack=("__x64_sys_munmap.constprop.2",)
    )
    assert names(diagnose(evidence(flush))) == ["unmap"]


def test_hostile_names_cannot_break_out_of_a_command() -> None:
    for evil in (HOSTILE, "a'; rm -rf / #", "{keep}", "-x", "$(reboot)"):
        (finding,) = diagnose(evidence(share("thread", evil))).findings
        assert finding.rule == "other-program"
        assert "; rm" not in finding.remedy.replace("'\"'\"'", "").partition("-- '")[0]
    (finding,) = diagnose(evidence(share("thread", "a'; reboot #"))).findings
    assert "'a'\"'\"'; reboot #'" in finding.remedy
    (finding,) = diagnose(evidence(share("thread", "a.*"))).findings
    assert r"'a\.\*'" in finding.remedy


def test_a_rule_may_not_claim_twice() -> None:
    one = share("softirq", "RCU")
    (honest,) = (rule for rule in all_rules() if rule.name == "rcu-callbacks")
    (finding,) = diagnose(evidence(one)).findings
    greedy = replace(honest, judge=lambda _: [finding, finding])
    with pytest.raises(ValueError, match="not its own"):
        diagnose(evidence(one), [greedy])


def test_a_remedy_never_sets_all_cpus_apart() -> None:
    everywhere = replace(evidence(share(*TICK), share(*TICK, cpu=3)), cpus=(0, 1, 2, 3))
    (finding,) = diagnose(everywhere).findings
    assert finding.cause.endswith("on CPU 2-3")
    assert "nohz_full=2-3" in finding.remedy
    whole = replace(everywhere, online=(2, 3), cpus=(2, 3))
    (finding,) = diagnose(whole).findings
    assert finding.cause.endswith("on CPU 2-3")
    assert "nohz_full=3 " in finding.remedy
    some = evidence(share("thread", "app", cpu=3))
    (finding,) = diagnose(some).findings
    assert "taskset -pc 0-1 " in finding.remedy
    assert "isolcpus=domain,2-3" in finding.otherwise


def test_packets_that_were_handed_on_are_told_from_others() -> None:
    handed, own = share("softirq", "NET_RX"), share("softirq", "NET_RX", net_ns=5)
    handed = replace(handed, trigger=Trigger(cpu=2, context="call_function_single"))
    call = share("ipi", "call_function_single", "rps_trigger_softirq")
    steered, received = diagnose(evidence(handed, own, call)).findings
    assert (steered.rule, steered.net_ns) == ("packet-steering", 20_000)
    assert (received.rule, received.net_ns) == ("packets-received", 5)


def test_behind_a_worker_stands_who_queued_its_work() -> None:
    patch = share("ipi", "call_function", "do_sync_core", stack=("jump_label_update",))
    worker = Trigger("kworker/0:1", 9, 0, work="netstamp_clear", origin="my app 77")
    for origin, about in (("my app 77", "my app"), ("", "netstamp_clear")):
        who = worker._replace(origin=origin)
        (finding,) = diagnose(evidence(replace(patch, trigger=who))).findings
        assert finding.key == f"switch-flipped:{about}"


def test_page_faults_stand_beside_the_noise() -> None:
    faulting = replace(evidence(share("softirq", "RCU", net_ns=5)), fault_count=7, fault_ns=900)
    callbacks, fault = diagnose(faulting).findings
    assert (fault.rule, fault.net_ns, fault.wait_ns, fault.wait_count) == ("page-fault", 0, 900, 7)
    assert callbacks.net_ns == diagnose(faulting).explained_ns == diagnose(faulting).lost_ns == 5
    assert fault.is_own
