"""Whether a run is steady enough to be compared, in the words and with the limits of pyperf check
(pyperf: standard deviation over 10 % of the mean; minimum or maximum 50 % away from it)."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.compare.sample import Sample
from noisetop.units import format_ns

_MAX_DEVIATION_SHARE = 0.10
_MAX_DISTANCE_SHARE = 0.50


def stability_lines(sample: Sample) -> Iterator[str]:
    """The verdict on the noise per block."""
    values = sample.total_ns
    mean = float(values.mean())
    complaints = list(_complaints(sample, mean)) if mean else []
    if not complaints:
        yield f"{sample.name}: The noise seems to be stable"
        return
    yield f"{sample.name}: WARNING: the result may be unstable"
    for complaint in complaints:
        yield f"* {complaint}"
    yield "Try to rerun with a longer duration, or on a quieter machine."


def _complaints(sample: Sample, mean: float) -> Iterator[str]:
    values = sample.total_ns
    deviation = float(values.std(ddof=1))
    of_mean = f"the mean ({format_ns(mean)} in {format_ns(sample.block_ns)})"
    if deviation > _MAX_DEVIATION_SHARE * mean:
        yield (
            f"the standard deviation ({format_ns(deviation)}) is {100 * deviation / mean:.0f}% "
            f"of {of_mean}"
        )
    low, high = float(values.min()), float(values.max())
    if high > (1 + _MAX_DISTANCE_SHARE) * mean:
        more = 100 * (high / mean - 1)
        yield f"the maximum ({format_ns(high)}) is {more:.0f}% greater than {of_mean}"
    if low < (1 - _MAX_DISTANCE_SHARE) * mean:
        less = 100 * (1 - low / mean)
        yield f"the minimum ({format_ns(low)}) is {less:.0f}% smaller than {of_mean}"
