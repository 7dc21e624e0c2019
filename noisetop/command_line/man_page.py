"""Manual pages in man(7), made from the parsers."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from noisetop.command_line import overview
from noisetop.command_line.command import Command, Example
from noisetop.command_line.exit_statuses import EXIT_STATUSES, STATUS_OF_CMD
from noisetop.command_line.parser import command_parser, subparsers_of, takes_workload

_MANUAL = "User Commands"
_WIDTH = 78
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def program_page(commands: Sequence[Command], version: str, date: str) -> str:
    """noisetop(1). ``date`` as in 2026-01-31."""
    lines = [
        *_start("noisetop", overview.SUMMARY.rstrip("."), version, date),
        ".SH SYNOPSIS",
        *_joined(f"{_bold(u.split()[0])} {_text(u.partition(' ')[2])}" for u in overview.USAGE),
        ".SH DESCRIPTION",
        _paragraph(overview.DESCRIPTION),
        ".PP",
        _paragraph(overview.PRIVILEGES),
        ".SH COMMANDS",
        *_listed((f"noisetop {one.NAME}", one.HELP) for one in commands),
        ".SH OPTIONS",
        *_listed((("-h, --help", "list the commands"), ("-V, --version", "print the version"))),
        ".PP",
        "All other options are those of",
        ".BR noisetop\\-top (1).",
        *_end(overview.EXAMPLES, workload=True),
        ".SH ENVIRONMENT",
        *_listed(overview.ENVIRONMENT),
        *_see_also(one.NAME for one in commands),
    ]
    return "\n".join(lines) + "\n"


def command_page(command: Command, commands: Sequence[Command], version: str, date: str) -> str:
    """noisetop-COMMAND(1). ``date`` as in 2026-01-31."""
    parser = command_parser(command)
    probes = subparsers_of(parser)
    lines = [
        *_start(f"noisetop-{command.NAME}", command.HELP, version, date),
        ".SH SYNOPSIS",
        *_joined(_wrapped(_synopsis(one)) for one in probes.values() or (parser,)),
        ".SH DESCRIPTION",
        _paragraph(command.DESCRIPTION),
        ".SH OPTIONS",
    ]
    for one in probes.values():
        lines += [f".SS {_text(one.prog)}", _paragraph(one.description or ""), *_options(one)]
    if not probes:
        lines += _options(parser)
    lines += _end(command.EXAMPLES, workload=takes_workload(parser))
    lines += _see_also(["", *(one.NAME for one in commands if one is not command)])
    return "\n".join(lines) + "\n"


def _start(name: str, about: str, version: str, date: str) -> Iterator[str]:
    yield f'.TH {_text(name).upper()} 1 "{date}" "noisetop {version}" "{_MANUAL}"'
    # No hyphens in names of options, no spread words.
    yield from (".nh", ".ad l", ".SH NAME")
    yield _wrapped(f"{_text(name)} \\- {_text(about)}")


def _end(examples: Sequence[Example], *, workload: bool) -> Iterator[str]:
    yield ".SH EXAMPLES"
    yield from _listed((one.command, f"{one.about[0].upper()}{one.about[1:]}.") for one in examples)
    yield ".SH EXIT STATUS"
    yield from _listed(EXIT_STATUSES)
    if workload:
        yield from (".PP", _paragraph(STATUS_OF_CMD))


def _see_also(names: Iterable[str]) -> Iterator[str]:
    pages = [_text(f"noisetop-{name}" if name else "noisetop") for name in names]
    yield ".SH SEE ALSO"
    yield from (f".BR {page} (1)," for page in pages[:-1])
    yield f".BR {pages[-1]} (1)"


def _synopsis(parser: argparse.ArgumentParser) -> str:
    words = [_bold(parser.prog)]
    shown = [one for one in parser._actions if one.help != argparse.SUPPRESS]
    for one in sorted(shown, key=lambda action: not action.option_strings):
        term = _term(one, one.option_strings[:1])
        required = one.required and one.nargs != argparse.OPTIONAL
        words.append(term if required else f"[{term}]")
    if takes_workload(parser):
        words.append(r"[\-\- \fICMD\fR ...]")
    return " ".join(words)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Arguments and options by group, each with its help."""
    for group in parser._action_groups:
        shown = [one for one in group._group_actions if one.help != argparse.SUPPRESS]
        if not shown:
            continue
        if group.title not in ("options", "positional arguments"):
            yield f".SS {_text((group.title or '').capitalize())}"
        for one in shown:
            yield from (".TP", _term(one, one.option_strings))
            yield _paragraph(parser._get_formatter()._expand_help(one))


def _term(action: argparse.Action, options: Sequence[str]) -> str:
    """The option in bold with its value in italics, or the name of an argument."""
    name = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.choices is not None and action.metavar is None:
        name = "|".join(map(str, action.choices))
    elif options and action.metavar is None:
        name = name.upper()
    value = "" if action.nargs == 0 else rf"\fI{_text(name)}\fR"
    return " ".join(filter(None, (", ".join(map(_bold, options)), value)))


def _listed(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, about in rows:
        yield from (".TP", _bold(term), _paragraph(about))


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """One under the other."""
    for at, line in enumerate(lines):
        yield from (*((".br",) if at else ()), line)


def _bold(text: str) -> str:
    return rf"\fB{_text(text)}\fR"


def _text(text: str) -> str:
    """Text for troff: nothing in it is an escape."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return _NOT_ASCII.sub(lambda found: rf"\[u{ord(found[0]):04X}]", escaped)


def _wrapped(text: str) -> str:
    """Lines of text that is escaped already: none is a request, none is too long."""
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(rf"\&{one}" if one.startswith((".", "'")) else one for one in lines)


def _paragraph(text: str) -> str:
    return _wrapped(_text(text))
