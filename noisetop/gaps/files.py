"""Probe results as files: JSON or a chart, by the end of the name."""

from __future__ import annotations

import json
from pathlib import Path

from noisetop.errors import UsageError
from noisetop.gaps.charts import chart_of, suffixes_of
from noisetop.gaps.result import ProbeResult
from noisetop.output import Output, check_output

JSON_SUFFIX = ".json"


def as_json(result: ProbeResult) -> str:
    """One line of JSON; json escapes all control characters but DEL."""
    return json.dumps(result.to_json()).replace("\x7f", "\\u007f")


def check_result_output(path: Path, kind: str, *, force: bool) -> Output:
    """The output of that name. Raises UsageError when a result of this kind cannot be written
    there."""
    known = [JSON_SUFFIX, *suffixes_of(kind)]
    if not any(path.name.lower().endswith(suffix) for suffix in known):
        raise UsageError(
            f"what format of a probe {kind} result is {path}? end its name in {' '.join(known)}"
        )
    return check_output(path, force=force)


def write_result(result: ProbeResult, output: Output) -> None:
    """Writes the file, in the format that the end of its name says. Raises NoisetopError."""
    path = output.path
    if path.name.lower().endswith(JSON_SUFFIX):
        content = as_json(result).encode() + b"\n"
    else:
        content = chart_of(result, path)
    with output.opened() as file:
        file.write(content)
