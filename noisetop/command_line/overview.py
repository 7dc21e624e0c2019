"""What ``noisetop --help`` prints."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from noisetop.command_line.command import Command, Example
from noisetop.command_line.exit_statuses import EXIT_STATUSES, STATUS_OF_CMD
from noisetop.command_line.parser import examples_text

USAGE = (
    "noisetop [top] [options] [interval [count]] [-- CMD ...]",
    "noisetop COMMAND [options]",
)
SUMMARY = "See what takes time from your CPUs, live and recorded."
DESCRIPTION = (
    "noisetop traces interrupts, softirqs, NMIs, preemption and hypervisor steal with eBPF and "
    "shows how much time they take from a program or a CPU, what they are and who triggers them. "
    "Without a COMMAND it runs noisetop top. Without a target it watches the isolated CPUs if "
    "there are any, otherwise all online CPUs."
)
PRIVILEGES = (
    "top, record and diagnose without a FILE need root, or CAP_BPF, CAP_PERFMON and CAP_SYSLOG. "
    "The other commands run without privileges."
)
EXAMPLES = (
    Example("noisetop", "live dashboard of the isolated CPUs, otherwise of all CPUs"),
    Example("noisetop -p 1234", "live dashboard of what interrupts one process"),
    Example("noisetop record -d 10s -- ./benchmark", "record what interrupts a benchmark"),
    Example("noisetop report noise.noisetop", "summary, top sources and worst moments"),
    Example("noisetop diagnose -c 2-3", "trace for 10 s, then list causes and remedies"),
    Example("noisetop check -c 2-3", "audit the isolation of two CPUs"),
)
ENVIRONMENT = (
    ("NO_COLOR", "If set and not empty, text output has no colours."),
    ("TERM", "If it is dumb, text output has no colours and no pager."),
    (
        "NOISETOP_PAGER, PAGER",
        "The pager for long text on a terminal, the first that is set; less if none is. "
        "cat or an empty value turns it off, as the option --no-pager does.",
    ),
    ("LESS", "If it is not set, the pager gets LESS=FRX."),
)
_WIDTH = 80


def overview(commands: Iterable[Command]) -> str:
    """The help of the program as a whole: commands, examples, exit statuses."""
    usage = [f"{'usage: ' if not at else ' ' * 7}{line}" for at, line in enumerate(USAGE)]
    listed = [f"  {one.NAME:<10} {one.HELP}" for one in commands]
    statuses = [f"  {status:<10} {meaning}" for status, meaning in EXIT_STATUSES]
    paragraphs = (
        "\n".join(usage),
        SUMMARY,
        "\n".join(["commands:", *listed]),
        textwrap.fill(PRIVILEGES, _WIDTH),
        examples_text(EXAMPLES),
        "\n".join(
            [
                "exit status:",
                *statuses,
                textwrap.fill(
                    STATUS_OF_CMD, _WIDTH - 2, initial_indent="  ", subsequent_indent="  "
                ),
            ]
        ),
        "noisetop COMMAND --help shows the options of a command.",
    )
    return "\n\n".join(paragraphs)
