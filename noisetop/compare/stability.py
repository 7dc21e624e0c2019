"""Whether a run is steady enough to be compared, in the words and with the limits of pyperf check
(pyperf: standard deviation over 10 % of the mean; minimum or maximum 50 % away from it)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from noisetop.compare.sample import Sample
from noisetop.compare.statistics import Vector
from noisetop.text.units import format_ns

_MAX_DEVIATION_SHARE = 0.10
_MAX_DISTANCE_SHARE = 0.50


def stability_lines(sample: Sample) -> Iterator[str]:
    """The verdict on the noise per block."""
    mean = float(sample.total_ns.mean())
    of_mean = f"the mean ({format_ns(mean)} in {format_ns(sample.block_ns)})"
    found = list(complaints(sample.total_ns, format_ns, of_mean))
    yield from verdict_lines(sample.name, "The noise", found)


def verdict_lines(name: str, subject: str, found: Sequence[str]) -> Iterator[str]:
    """The verdict on a run, from its complaints."""
    if not found:
        yield f"{name}: {subject} seems to be stable"
        return
    yield f"{name}: WARNING: the result may be unstable"
    for complaint in found:
        yield f"* {complaint}"
    yield "Try to rerun with a longer duration, or on a quieter machine."


def complaints(values: Vector, show: Callable[[float], str], of_mean: str) -> Iterator[str]:
    """What is wrong with at least two values; nothing with those whose mean is 0.

    A minimum of 0 is no complaint: rare noise leaves blocks of time without any.
    """
    mean = float(values.mean())
    if not mean:
        return
    deviation = float(values.std(ddof=1))
    if deviation > _MAX_DEVIATION_SHARE * mean:
        share = 100 * deviation / mean
        yield f"the standard deviation ({show(deviation)}) is {share:.0f}% of {of_mean}"
    low, high = float(values.min()), float(values.max())
    if high > (1 + _MAX_DISTANCE_SHARE) * mean:
        more = 100 * (high / mean - 1)
        yield f"the maximum ({show(high)}) is {more:.0f}% greater than {of_mean}"
    if 0 < low < (1 - _MAX_DISTANCE_SHARE) * mean:
        less = 100 * (1 - low / mean)
        yield f"the minimum ({show(low)}) is {less:.0f}% smaller than {of_mean}"
