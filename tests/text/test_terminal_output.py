"""What reaches a terminal, a file and a pager."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from noisetop.text.styled import BAD, HEADING, Span, heading, spans_of, styled

_PROGRAM = """
from noisetop.text.styled import BAD, heading, styled
from noisetop.text.terminal_output import print_lines
lines = [heading("Sources"), styled("FAIL why", BAD, end=4), "[red]name[/] µ › plain"]
print_lines(lines, pager={pager})
"""
_PLAIN = "Sources\nFAIL why\n[red]name[/] µ › plain\n"
_COLOURED = "\x1b[1mSources\x1b[0m\n\x1b[31mFAIL\x1b[0m why\n[red]name[/] µ › plain\n"


def on_terminal(program: str, **environment: str) -> str:
    """What a terminal of type xterm gets from a program, with the line ends of a file."""
    keep = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**keep, "LANG": "C.UTF-8", "TERM": "xterm", **environment},
    )
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(ours, 65536):
            seen += block
    except OSError:  # a terminal that nobody has open any more
        pass
    os.close(ours)
    assert process.wait() == 0
    return seen.decode().replace("\r\n", "\n")


def test_styles_are_part_of_the_line_but_not_of_its_text() -> None:
    line = styled("FAIL why", BAD, end=4)
    assert line == "FAIL why"
    assert spans_of(line) == (Span(0, 4, BAD),)
    assert spans_of(heading("Sources")) == (Span(0, 7, HEADING),)
    assert spans_of(line + "") == spans_of("plain") == ()


def test_terminal_gets_colours_and_no_markup_is_read() -> None:
    assert on_terminal(_PROGRAM.format(pager=False)) == _COLOURED


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_terminal_without_colours(environment: dict[str, str]) -> None:
    assert on_terminal(_PROGRAM.format(pager=False), **environment) == _PLAIN


def test_empty_no_color_asks_for_nothing() -> None:
    assert on_terminal(_PROGRAM.format(pager=False), NO_COLOR="") == _COLOURED


def test_file_gets_plain_text() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(pager=True)],
        stdout=subprocess.PIPE,
        env={"LANG": "C.UTF-8", "TERM": "xterm", "PAGER": "exit 1"},
        check=True,
    )
    assert done.stdout.decode() == _PLAIN


def test_pager_gets_the_text_and_the_options_of_less() -> None:
    pager = 'sed "s/^/> $LESS /"'
    shown = "".join(f"> FRX {line}\n" for line in _COLOURED.splitlines())
    assert on_terminal(_PROGRAM.format(pager=True), PAGER=pager) == shown
    assert on_terminal(_PROGRAM.format(pager=True), PAGER=pager, LESS="S") == shown.replace(
        "FRX", "S"
    )


def test_own_variable_comes_before_pager() -> None:
    seen = on_terminal(_PROGRAM.format(pager=True), PAGER="false", NOISETOP_PAGER="tr S s")
    assert seen == _COLOURED.replace("S", "s")


@pytest.mark.parametrize(
    "environment",
    [{"PAGER": ""}, {"PAGER": "cat"}, {"NOISETOP_PAGER": "cat", "PAGER": "tr S s"}],
)
def test_no_pager(environment: dict[str, str]) -> None:
    assert on_terminal(_PROGRAM.format(pager=True), **environment) == _COLOURED


def test_pager_is_not_used_when_refused() -> None:
    assert on_terminal(_PROGRAM.format(pager=False), PAGER="tr S s") == _COLOURED


def test_pager_that_cannot_be_run_loses_nothing() -> None:
    seen = on_terminal(_PROGRAM.format(pager=True), PAGER="noisetop-no-such-pager")
    assert seen.endswith(_COLOURED)


def test_pager_that_ends_early_is_no_error() -> None:
    program = _PROGRAM.format(pager=True).replace("lines = [", "lines = ['x' * 99] * 9999 + [")
    assert on_terminal(program, PAGER="head -n 1") == f"{'x' * 99}\n"


def test_report_on_a_terminal_has_bold_headings(tmp_path: Path) -> None:
    recording = Path(__file__).parents[1] / "data/quiet.noisetop"
    program = f"from noisetop import cli; cli.run(['report', {str(recording)!r}, '--no-pager'])"
    assert "\x1b[1mSources\x1b[0m\n" in on_terminal(program, PAGER="false")
