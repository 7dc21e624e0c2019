"""The figures of a summary that limits are compared with: those of the headline and of --json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from noisetop.columns.tasks import UNKNOWN, NamedShare, TaskNamer, described
from noisetop.columns.triggers import verb_of
from noisetop.counters.calibration import CALIBRATION
from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.errors import NoisetopError
from noisetop.events.interruption import Source
from noisetop.events.origin import Origin
from noisetop.limits.grammar import COST, COUNT, LOST, NOISE, PERCENT, SINGLE, SOURCE, Limit
from noisetop.limits.outcome import Culprit, Outcome
from noisetop.summary.short_lived import STARTED
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.summary.worst import Part, WorstInterruption, worst_external
from noisetop.text.column import percent
from noisetop.text.sanitize import printable

_NO_INTERVAL = (
    "longest single interruption, as all of the longest intervals are turns of a victim or "
    "contention"
)

Size = Callable[[SourceSummary], int]


def outcomes_of(
    limits: Sequence[Limit], summary: Summary, worst: Sequence[WorstInterruption]
) -> tuple[Outcome, ...]:
    """What became of the limits, in their order. ``worst``: the longest intervals of the same
    period, longest first.

    Raises NoisetopError for a limit on the cost where there is no calibration.
    """
    figures = _Figures(summary, worst, TaskNamer(summary))
    return tuple(_FIGURES[limit.name](figures, limit) for limit in limits)


def culprit_of(summary: Summary, one: WorstInterruption) -> Culprit:
    """The source that has most of an interval, what is not the victim's own first, and who."""
    figures = _Figures(summary, (one,), TaskNamer(summary))
    external = [part for part in one.parts if part.origin is not Origin.SELF] or one.parts
    largest = max(external, key=lambda part: part.net_ns, default=None)
    culprit = figures.of_part(largest) if largest else Culprit(())
    return replace(culprit, worst_ns=one.interval.noise_ns, start_ns=one.interval.start_ns)


def main_culprit(summary: Summary) -> Culprit:
    """The source that has most of the external noise of all CPUs, and who has most of it."""
    figures = _Figures(summary, (), TaskNamer(summary))
    every = summary.all_cpus().external
    return figures.of_sources(every, lambda one: one.net_ns) or Culprit(())


@dataclass(frozen=True, slots=True)
class _Figures:
    """What the figures are taken from."""

    summary: Summary
    worst: Sequence[WorstInterruption]
    namer: TaskNamer

    def noise(self, limit: Limit) -> Outcome:
        return self._share(limit, lambda cpu: cpu.external, lambda one: one.net_ns)

    def cost(self, limit: Limit) -> Outcome:
        calibration = self.summary.counters.of(CALIBRATION)
        if not calibration.kinds:
            why = f" ({printable(calibration.reason)})" if calibration.reason else ""
            raise NoisetopError(
                f"limit {printable(limit.text)}: there is no calibration{why}: type noisetop probe "
                "calibrate and record again, or limit noise"
            )
        return self._share(limit, lambda cpu: cpu.external, lambda one: one.rank_ns)

    def single(self, limit: Limit) -> Outcome:
        found = worst_external(self.summary, self.worst)
        if found is None:  # the intervals that are known are all turns of victims, or contention
            found_source = self._longest_source(limit, self.summary.cpus, lambda cpu: cpu.external)
            return replace(found_source, detail=_NO_INTERVAL) if self.worst else found_source
        interval = found.interval
        culprit = culprit_of(self.summary, found)
        return self._outcome(limit, interval.noise_ns, interval.cpu, culprit)

    def lost(self, limit: Limit) -> Outcome:
        losses = self.summary.counters.of(LOSSES)
        detail = describe_losses(losses) if losses.total else ""
        return Outcome(limit, losses.total, detail=detail)

    def source(self, limit: Limit) -> Outcome:
        def matching(cpu: CpuSummary) -> Iterable[SourceSummary]:
            return [one for one in cpu.external if one.count and limit.matches(one.source.path)]

        if limit.unit == PERCENT:
            return self._share(limit, matching, lambda one: one.net_ns)
        if limit.unit != COUNT:
            return self._longest_source(limit, self.summary.cpus, matching)
        found = list(matching(self.summary.all_cpus()))
        value = sum(one.count for one in found)
        return self._outcome(limit, value, None, self.of_sources(found, lambda one: one.count))

    def _share(
        self, limit: Limit, of_cpu: Callable[[CpuSummary], Iterable[SourceSummary]], size: Size
    ) -> Outcome:
        """Of the wall time of the CPU on which it is largest."""
        sums = [(sum(map(size, of_cpu(cpu))), cpu) for cpu in self.summary.cpus]
        if not sums:
            return self._outcome(limit, 0.0, None, None)
        ns, cpu = max(sums, key=lambda pair: pair[0])
        value = percent(ns, self.summary.duration_ns)
        return self._outcome(limit, value, cpu.cpu, self.of_sources(of_cpu(cpu), size))

    def _longest_source(
        self,
        limit: Limit,
        cpus: Iterable[CpuSummary],
        of_cpu: Callable[[CpuSummary], Iterable[SourceSummary]],
    ) -> Outcome:
        """The longest single interruption by one of these sources."""
        found = [(one.max_ns, cpu.cpu, one) for cpu in cpus for one in of_cpu(cpu)]
        if not found:
            return self._outcome(limit, 0, None, None)
        value, cpu, one = max(found, key=lambda three: three[0])
        culprit = self.of_sources([one], lambda one: one.max_ns, by_longest=True)
        return self._outcome(limit, value, cpu, culprit)

    def _outcome(
        self, limit: Limit, value: float, cpu: int | None, culprit: Culprit | None
    ) -> Outcome:
        return Outcome(limit, value, cpu, culprit, period_start_ns=self.summary.start_ns)

    def of_sources(
        self, sources: Iterable[SourceSummary], size: Size, *, by_longest: bool = False
    ) -> Culprit | None:
        """The largest of them, and who has most of it; ``by_longest``: who had the longest one."""
        largest = max(sources, key=size, default=None)
        if largest is None or not largest.count:
            return None
        shares = self.namer.culprits_of(largest)
        if by_longest:
            shares = sorted(shares, key=lambda one: -one.part.max_ns)
        start_ns = largest.max_start_ns or None
        known = next((one for one in shares if one.label != UNKNOWN), None)
        who, verb = (known.label, _verb(largest.source, known)) if known else (None, "by")
        return Culprit(largest.source.path, who, largest.max_ns, start_ns, verb)

    def of_part(self, part: Part) -> Culprit:
        """The task that ran, or who triggered what did."""
        path = part.source.path
        if part.tid and (self.namer.is_program(part.tid) or not part.trigger.label):
            named = bool(self.summary.directory.name(part.tid))
            return Culprit(path, self.namer.name(part.tid) if named else f"TID {part.tid}")
        label = described(part.trigger, self.summary.directory)
        who = None if label == UNKNOWN else label
        return Culprit(path, who, verb=verb_of(part.source))


def _verb(source: Source, share: NamedShare) -> str:
    """A share that has no trigger, or is of short-lived tasks, is of what ran itself."""
    trigger = share.part.trigger
    return verb_of(source) if trigger.label and trigger.context != STARTED else "by"


_FIGURES: dict[str, Callable[[_Figures, Limit], Outcome]] = {
    NOISE: _Figures.noise,
    COST: _Figures.cost,
    SINGLE: _Figures.single,
    LOST: _Figures.lost,
    SOURCE: _Figures.source,
}
