"""The page about the exporter: its commands run, and its table is what is exported."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from noisetop.cli import parse
from noisetop.metrics.listen import DEFAULT
from noisetop.metrics.totals import MetricTotals
from tests.metrics.board import MadeUpExporter
from tests.metrics.made_up import Scrape

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs/guide/exporter.md").read_text()
ABSENT = {"noisetop_side_seconds_total", "noisetop_side_total"}
"""Only where page faults or entries are traced."""


def commands() -> list[str]:
    """Indented lines."""
    return re.findall(r"(?m)^ {4}(\S.*)$", PAGE)


def documented() -> dict[str, set[str]]:
    """Labels by metric; ``the same`` is what the row above has."""
    found: dict[str, set[str]] = {}
    labels: set[str] = set()
    for name, told in re.findall(r"(?m)^\| `(noisetop_\w+)` \|([^|]*)\|", PAGE):
        if "the same" not in told:
            labels = set(re.findall(r"`(\w+)`", told))
        found[name] = labels
    return found


def exported() -> dict[str, set[str]]:
    """Labels by metric of a made-up trace that has them all."""
    found: dict[str, set[str]] = {}
    for name, labels in Scrape.of(MadeUpExporter().published.registry).values:
        family = re.sub(r"_(bucket|count|sum)$", "", name)
        found.setdefault(family, set()).update(dict(labels))
    found.pop("kube_pod_info")
    return found


def test_the_table_has_every_metric() -> None:
    assert set(documented()) == set(exported()) | ABSENT


def test_the_table_has_every_label() -> None:
    described = documented()
    for name, labels in exported().items():
        assert labels - {"le"} <= described[name], name


def test_its_commands_have_options_that_there_are() -> None:
    programs = [one for one in commands() if "noisetop exporter" in one]
    assert len(programs) == 2
    for command in programs:
        name, args = parse(shlex.split(command.removeprefix("sudo noisetop ")))
        assert (name, args.cpus) == ("exporter", "2-3")
    assert f"http://{DEFAULT}/metrics" in PAGE


@pytest.mark.parametrize("path", re.findall(r"packaging/[\w/.-]+\w", PAGE))
def test_the_files_that_it_names_are_there(path: str) -> None:
    assert (TOP / path).is_file()


def test_the_limits_are_those_of_the_program() -> None:
    assert "64 sources, 64 pairs and 64 waits" in PAGE
    totals = MetricTotals((0,))
    assert {one.most for one in (totals._sources, totals._stolen, totals._waits)} == {64}
