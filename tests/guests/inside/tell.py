"""A plugin of pytest that writes down at once what came of each test: a guest may stop at any time.

``-p tests.guests.inside.tell``; the file is NOISETOP_TOLD, one JSON object in each line, and
tests/guests/cases.py reads it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def write(**told: object) -> None:
    """Adds a line, which is on the disk of the host when this returns."""
    with Path(os.environ["NOISETOP_TOLD"]).open("a") as file:
        file.write(json.dumps(told) + "\n")
        file.flush()
        os.fsync(file.fileno())


def pytest_collection_finish(session: pytest.Session) -> None:
    for item in session.items:
        write(name=item.nodeid, state="chosen", message="")


def pytest_runtest_logstart(nodeid: str) -> None:
    write(name=nodeid, state="began", message="")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.outcome == "skipped":
        write(name=report.nodeid, state="skipped", message=str(report.longrepr))
    elif report.outcome == "failed":
        write(name=report.nodeid, state="failed", message=report.longreprtext)
    elif report.when == "teardown":
        write(name=report.nodeid, state="passed", message="")
