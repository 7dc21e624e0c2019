"""The outcomes of limits as JUnit XML, which build servers show as tests."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from noisetop.limits.outcome import Outcome, exceeded
from noisetop.text.sanitize import printable

_NS_PER_S = 1_000_000_000


def junit_xml(outcomes: Sequence[Outcome], duration_ns: int, warning: str = "") -> bytes:
    """One test case for each limit; those that are exceeded fail with who and when.

    ``duration_ns``: length of the period; ``warning``: what may be hidden, empty: nothing. XML has
    no way to write control characters, so all text is printable.
    """
    crossed = exceeded(outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(len(crossed)), "errors": "0"}
    root = Element("testsuites", counts)
    seconds = f"{duration_ns / _NS_PER_S:.3f}"
    suite = SubElement(root, "testsuite", {"name": "noisetop", **counts, "time": seconds})
    for one in outcomes:
        name = printable(one.limit.text)
        case = SubElement(suite, "testcase", {"classname": "noisetop.limits", "name": name})
        if one.exceeded:
            failure = SubElement(case, "failure", {"type": "limit", "message": one.line})
            failure.text = one.line
        else:
            SubElement(case, "system-out").text = one.line
    if warning:
        SubElement(suite, "system-err").text = printable(warning)
    indent(root)
    content: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"
