"""One JSON object per sample, one sample per line."""

from __future__ import annotations

import json
from typing import TextIO

from noisetop.live.output import LiveOutput, Option, Settings
from noisetop.live.sample import Feed, Sample
from noisetop.live.writer import write_samples
from noisetop.summary.as_dict import summary_as_dict


def json_line(sample: Sample) -> str:
    """The interval as one line of JSON; ``time_ns`` is its end, CLOCK_MONOTONIC."""
    line: dict[str, object] = {"time_ns": sample.interval.end_ns}
    line |= summary_as_dict(sample.interval)
    if sample.ended:
        line["ended"] = sample.ended
    # json escapes all control characters but this one.
    return json.dumps(line, separators=(",", ":")).replace("\x7f", "\\u007f") + "\n"


def _run(feed: Feed, out: TextIO, _settings: Settings) -> None:
    write_samples(feed, out, json_line)


OUTPUT = LiveOutput(_run, Option("--json", "one JSON object per sample, one sample per line"))
