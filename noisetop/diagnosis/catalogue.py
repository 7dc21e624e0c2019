"""The list of all causes for the documentation: ``python -m noisetop.diagnosis.catalogue``."""

from __future__ import annotations

import sys

from noisetop.diagnosis import all_rules
from noisetop.diagnosis.finding import Rule

_HEAD = """\
# Causes of noise

The causes that `noisetop diagnose` distinguishes, by subject. Made from the rules themselves, so do
not edit it: `python -m noisetop.diagnosis.catalogue > docs/causes.md`

Words in braces are filled in with what was measured: `{keep}` are CPUs to move things to, `{mask}`
the same as a mask, `{cpus}` those to isolate, `{cpu}` and `{where}` those that lost time, `{all}`
all there are, `{about}` a program, device or function, `{q}` and `{e}` its name, quoted, `{pid}`
the process that causes it and `{command}` its command line, `{victim}` the one that is measured.

Rules are tried from the narrowest to the widest; noise that one claims is not offered to the
next. D and A numbers in the sources are those of the project's collection of causes.
"""


def markdown() -> str:
    """The whole page."""
    by_subject: dict[str, list[Rule]] = {}
    for rule in all_rules():
        by_subject.setdefault(rule.subject, []).append(rule)
    parts = [_HEAD]
    for subject in sorted(by_subject):
        parts.append(f"\n## {subject}\n")
        parts += [_entry(rule) for rule in sorted(by_subject[subject], key=lambda one: one.name)]
    return "".join(parts)


def _entry(rule: Rule) -> str:
    rows = [
        ("seen as", f"`{rule.seen_as}`"),
        ("confirm", rule.confirm),
        ("remedy", f"`{rule.remedy}`" + (" (takes effect after a reboot)" if rule.reboot else "")),
        ("undo", f"`{rule.undo}`"),
        ("or", rule.otherwise),
        ("effect", rule.effect),
        ("confidence", rule.confidence.word),
        ("source", rule.source),
    ]
    lines = "".join(f"- {name}: {value}\n" for name, value in rows if value)
    return f"\n### {rule.name}\n\n{rule.cause}.\n\n{lines}"


if __name__ == "__main__":
    sys.stdout.write(markdown())
