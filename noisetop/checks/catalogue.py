"""The list of all checks for the documentation: ``python -m noisetop.checks.catalogue``."""

from __future__ import annotations

import sys

from noisetop.checks import all_checks
from noisetop.checks.result import Check
from noisetop.checks.status import Goal

_HEAD = """\
# Checks

What `noisetop check` asks, by subject. Made from the checks themselves, so do not edit it:
`python -m noisetop.checks.catalogue > docs/checks.md`

Each check ends as `pass`, `warn`, `fail`, or `skip` where it is inconclusive or does not apply.
What a container or a locked-down kernel hides is a `skip`, never a `pass`. Ids never change.
"""


def markdown() -> str:
    """The whole page."""
    by_subject: dict[str, list[Check]] = {}
    for check in all_checks():
        by_subject.setdefault(check.subject, []).append(check)
    parts = [_HEAD]
    for subject in sorted(by_subject):
        parts.append(f"\n## {subject}\n")
        parts += [_entry(check) for check in by_subject[subject]]
    return "".join(parts)


def _entry(check: Check) -> str:
    rows = [
        ("reads", ", ".join(f"`{path}`" if path.startswith("/") else path for path in check.reads)),
        ("expects", check.expected),
        ("why", check.why),
        ("remedy", check.fix),
        ("caveat", check.caveat),
        ("explains", ", ".join(f"`{' / '.join(pattern)}`" for pattern in check.explains)),
        ("goals", "" if check.goals == frozenset(Goal) else ", ".join(sorted(check.goals))),
        ("source", check.sources),
    ]
    lines = "".join(f"- {name}: {value}\n" for name, value in rows if value)
    return f"\n### {check.id} {check.name}\n\n{check.question}\n\n{lines}"


if __name__ == "__main__":
    sys.stdout.write(markdown())
