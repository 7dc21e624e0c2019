"""The exact figures of the moment that a recording was made for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from noisetop.counters.calibration import CALIBRATION
from noisetop.counters.losses import LOSSES
from noisetop.events.interruption import INTERRUPTION, Flag, Interruptions, interrupting
from noisetop.events.layout import Events, Layout
from noisetop.events.origin import Origin
from noisetop.flight_recorder.needed import LONGEST_NS, needed_records
from noisetop.limits.noise_figures import culprit_of, main_culprit
from noisetop.limits.outcome import Culprit
from noisetop.recording.moment import ANY_CPU, GAP, SOURCE, TOTAL, WAIT, Figures, Moment
from noisetop.recording.raw_file import read_spool
from noisetop.recording.recording import Recording
from noisetop.recording.thread_accounts import PeriodAccount
from noisetop.summary.cpu_victim import Claims, CpuVictims
from noisetop.summary.max_single import LongestIntervals, NoiseInterval
from noisetop.summary.recorded import cpu_victims_of, summary_from
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import Summary
from noisetop.summary.worst import interruption_of, without_aside
from noisetop.tables.rows import joined, select


@dataclass(frozen=True, slots=True)
class Analysis:
    """Of one recording."""

    whose: CpuVictims
    """The victims of CPUs."""
    figures: Figures | None
    """None: the moment was none; what was found belongs to the victim itself."""


def analyse(path: Path, moment: Moment) -> Analysis:
    """Reads what tells about the moment. Raises NoisetopError where the file is damaged."""
    recording = read_spool(path, partial(_needed, moment))
    assert recording.accounts is not None
    # What ran outside of the moment is left out, so waits have no causes but in it.
    recording = replace(recording, read_chunks=recording.accounts.chunks)
    tables = [_inside(chunk, moment) for chunk in recording.all_chunks()]
    ran = joined([np.empty(0, INTERRUPTION), *tables])
    account = _account(recording, ran)
    if Claims.of(recording.metadata).any_task:
        recording = replace(recording, victims=dict(account.victims))
    table = select(ran, ran["victim_tid"] != 0)
    table = joined([table, _cut(account.unattributed, moment)])
    whose = cpu_victims_of(recording)
    external = select(table, table["origin"] != int(Origin.SELF))
    external = without_aside(external, recording.sources, whose, recording.directory)
    if moment.kind in (TOTAL, WAIT, GAP):
        return Analysis(whose, _sum_of(recording, moment, external))
    if moment.kind == SOURCE:
        noise_ns = int(table["net_ns"].sum())
        event = NoiseInterval(moment.cpu, moment.start_ns, moment.end_ns, noise_ns)
        return Analysis(whose, _figures_of(recording, event, table) if noise_ns else None)
    outermost = select(external, Flag.OUTERMOST.among(external["flags"]))
    if not len(outermost):
        return Analysis(whose, None)
    intervals = LongestIntervals(1)
    intervals.add(outermost)
    return Analysis(whose, _figures_of(recording, intervals.worst()[0], external))


def _needed(moment: Moment, layout: Layout, events: Events) -> Events:
    return needed_records(layout, events, moment.cpu, moment.start_ns, _end_ns(moment))


def _end_ns(moment: Moment) -> int:
    """Up to when what began in it may end."""
    return moment.end_ns + (LONGEST_NS if moment.kind == TOTAL else 0)


def _account(recording: Recording, table: Interruptions) -> PeriodAccount:
    """For how long each victim ran, and where, by its waits; and what nothing accounts for."""
    accounts = recording.accounts
    assert accounts is not None
    accounts.begin(recording.start_ns)
    return accounts.account((table,), table[:0], recording.end_ns, last=True)


def _cut(unattributed: Interruptions, moment: Moment) -> Interruptions:
    """The parts that lie in the moment."""
    here = unattributed["start_ns"] <= moment.end_ns
    here &= unattributed["start_ns"] + unattributed["gross_ns"] > moment.start_ns
    if moment.cpu != ANY_CPU:
        here &= unattributed["cpu"] == moment.cpu
    rows = select(unattributed, here).copy()
    ends = np.minimum(rows["start_ns"] + rows["gross_ns"], moment.end_ns)
    rows["start_ns"] = np.maximum(rows["start_ns"], moment.start_ns)
    rows["gross_ns"] = rows["net_ns"] = ends - rows["start_ns"]
    return rows


def _inside(chunk: Interruptions, moment: Moment) -> Interruptions:
    """What ran in the moment, also beside an idle CPU, in one table of its own."""
    table = interrupting(chunk)
    mine = table["start_ns"] >= moment.start_ns
    mine &= table["start_ns"] <= moment.end_ns
    mine &= table["start_ns"] + table["gross_ns"] <= _end_ns(moment)
    if moment.cpu != ANY_CPU:
        mine &= table["cpu"] == moment.cpu
    return select(table, mine).copy()


def _figures_of(recording: Recording, interval: NoiseInterval, table: Interruptions) -> Figures:
    """Of the longest interval."""
    starts, ends = table["start_ns"], table["start_ns"] + table["gross_ns"]
    inside = (table["cpu"] == interval.cpu) & (starts >= interval.start_ns)
    rows = select(table, inside & (ends <= interval.end_ns))
    summary = _summary_of(recording, rows)
    worst = interruption_of(interval, rows, recording.sources, recording.triggers)
    culprit = culprit_of(summary, worst)
    duration_ns = interval.end_ns - interval.start_ns
    return Figures(
        interval.cpu,
        interval.start_ns,
        duration_ns,
        interval.noise_ns,
        _cost_of(summary, interval.noise_ns),
        culprit.path,
        _who(culprit),
        summary.counters.of(LOSSES).total,
    )


def _sum_of(recording: Recording, moment: Moment, table: Interruptions) -> Figures | None:
    """Of all noise in it; of a wait or a gap that is what ran meanwhile, perhaps nothing."""
    if moment.kind == TOTAL and not len(table):
        return None
    summary = _summary_of(recording, table)
    net_ns = sum(cpu.external_ns for cpu in summary.cpus)
    culprit = main_culprit(summary)
    return Figures(
        moment.cpu,
        moment.start_ns,
        moment.end_ns - moment.start_ns,
        net_ns,
        _cost_of(summary, net_ns),
        culprit.path,
        _who(culprit),
        summary.counters.of(LOSSES).total,
    )


def _summary_of(recording: Recording, table: Interruptions) -> Summary:
    """Of some rows of a recording that was read to its end."""
    summarizer = Summarizer(
        recording.cpus, recording.sources, recording.triggers, recording.directory
    )
    summarizer.add(table)
    return summary_from(recording, summarizer)


def _cost_of(summary: Summary, net_ns: int) -> int | None:
    """Net time, and what entering took as well."""
    if not summary.counters.of(CALIBRATION).kinds:
        return None
    sources = [one for cpu in summary.cpus for one in cpu.sources]
    return net_ns + sum((one.cost_ns or one.net_ns) - one.net_ns for one in sources)


def _who(culprit: Culprit) -> str:
    return culprit.who or ""
