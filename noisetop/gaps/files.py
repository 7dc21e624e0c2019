"""Probe results as files: JSON, read and written, or a chart, by the end of the name."""

from __future__ import annotations

import json
from pathlib import Path

from noisetop.checked_json import parse_json, sealed, unsealed
from noisetop.errors import NoisetopError, UsageError
from noisetop.gaps.charts import chart_of, suffixes_of
from noisetop.gaps.result import FORMAT, VERSION, WITHOUT_CHECKSUM, ProbeResult, result_of
from noisetop.gaps.validity import check_result
from noisetop.input import open_input, read_up_to
from noisetop.output import Output, check_output
from noisetop.text.sanitize import printable

JSON_SUFFIX = ".json"
_WANTED = "a probe result"
_START_BYTES = 200
_MAX_BYTES = 1 << 30


def as_json(result: ProbeResult) -> str:
    """One line of JSON; json escapes all control characters but DEL."""
    return json.dumps(sealed(result.to_json())).replace("\x7f", "\\u007f")


def looks_like_result(path: Path) -> bool:
    """Whether a file begins as a probe result does."""
    try:
        with open_input(path, _WANTED) as file:
            return FORMAT.encode() in file.read(_START_BYTES)
    except (NoisetopError, OSError, ValueError):
        return False


def read_result(path: Path) -> ProbeResult:
    """Reads a result file. Raises NoisetopError with one line on anything else."""
    try:
        with open_input(path, _WANTED) as file:
            content = read_up_to(file, _MAX_BYTES)
        if len(content) > _MAX_BYTES:
            raise NoisetopError(f"{path} is too large for a probe result")
        document = parse_json(content)
    except OSError as error:
        raise NoisetopError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise NoisetopError(f"{path} is no probe result: it is not JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise NoisetopError(f"{path} is no probe result: noisetop probe spin -o FILE makes one")
    form = document.get("version")
    if form not in (VERSION, WITHOUT_CHECKSUM):
        raise NoisetopError(f"{path} is of another version of noisetop")
    try:
        result = result_of(unsealed(document, required=form != WITHOUT_CHECKSUM))
        check_result(result)
    except (TypeError, ValueError) as error:
        raise NoisetopError(f"{path} is damaged: {printable(str(error))}") from None
    return result


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
