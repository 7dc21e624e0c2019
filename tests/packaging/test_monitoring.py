"""The board and the alerts: what they ask for is there, in Prometheus itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noisetop.metrics.listen import Address
from tests.metrics.board import MadeUpExporter
from tests.metrics.prometheus import Server, free_port, prometheus

pytestmark = [
    pytest.mark.packaging,
    pytest.mark.skipif(not shutil.which("promtool"), reason="takes the package prometheus"),
]

PACKAGING = Path(__file__).parents[2] / "packaging"
RULES = PACKAGING / "prometheus" / "noisetop.rules.yml"
BOARD = json.loads((PACKAGING / "grafana" / "noisetop.json").read_text())
NAMES = set(re.findall(r"(?m)^ +- alert: (\w+)$", RULES.read_text()))
SCRAPES = 6
VARIABLES = {"$__rate_interval": "30s", "$instance": ".*", "$source": ".*"}


def board_queries() -> Iterator[tuple[str, str]]:
    """Title of the panel and query."""
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Has scraped a made-up exporter for some seconds."""
    made, port = MadeUpExporter(), free_port()
    with (
        Address("127.0.0.1", port).serving(made.published),
        prometheus(tmp_path_factory.mktemp("prometheus"), port, RULES) as found,
    ):
        end = time.monotonic() + 60
        scrapes = f"count_over_time(up[1h]) >= {SCRAPES}"
        while not found.rows(scrapes):
            assert time.monotonic() < end
            made.next()
            time.sleep(0.2)
        yield found


def filled_in(query: str) -> str:
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    assert "$" not in query.replace('"$1"', "")
    return query


@pytest.mark.parametrize(("title", "query"), list(board_queries()))
def test_a_query_of_the_board_has_data(server: Server, title: str, query: str) -> None:
    rows = server.rows(filled_in(query))
    assert rows, title
    assert all(row["value"][1] != "NaN" for row in rows)


def test_the_variables_of_the_board_have_values(server: Server) -> None:
    for one in BOARD["templating"]["list"]:
        if one["type"] == "query":
            found = re.fullmatch(r"label_values\((.+), (\w+)\)", one["query"]["query"])
            assert found
            rows = server.rows(filled_in(found[1]))
            assert all(row["metric"][found[2]] for row in rows)
            assert rows


def test_panels_do_not_overlap() -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in BOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    titles = [panel["title"] for panel in BOARD["panels"] if panel["type"] == "row"]
    assert titles == ["Overview", "Host", "Source", "Culprits and victims"]


def test_what_alerts_compare_has_data(server: Server) -> None:
    """Without the limits: whether they are reached is another question."""
    rules = evaluated(server)
    assert {rule["name"] for rule in rules} == NAMES
    for rule in rules:
        assert rule["health"] == "ok", rule["lastError"]
        compared = re.split(r" (?:>|==) [\d.]+|\bunless\b|\bor\b", rule["query"])[0]
        assert server.rows(compared), rule["name"]


def evaluated(server: Server) -> list[dict[str, Any]]:
    """The alerts, once each was evaluated."""
    end = time.monotonic() + 60
    while True:
        rules: list[dict[str, Any]] = server.ask("rules")["groups"][0]["rules"]
        if all(rule["health"] != "unknown" for rule in rules):
            return rules
        assert time.monotonic() < end
        time.sleep(0.1)


def test_alerts_fire_with_the_culprit_in_their_text() -> None:
    here = Path(__file__).with_name("noisetop_rules_test.yml")
    done = subprocess.run(
        ["promtool", "test", "rules", here], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    fires = re.findall(r"alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:\n", here.read_text())
    assert set(fires) == NAMES


GUIDE = (PACKAGING.parent / "docs/guide/exporter.md").read_text()


@pytest.mark.parametrize("query", re.findall(r"(?s)```promql\n(.+?)```", GUIDE))
def test_a_query_of_the_guide_has_data(server: Server, query: str) -> None:
    assert server.rows(query.replace("[5m]", "[30s]"))


def test_the_configuration_of_the_guide_is_valid(tmp_path: Path) -> None:
    found = re.search(r"(?s)```yaml\n(.+?)```", GUIDE)
    assert found
    (tmp_path / "prometheus.yml").write_text(found[1])
    shutil.copy(RULES, tmp_path)
    done = subprocess.run(
        ["promtool", "check", "config", tmp_path / "prometheus.yml"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_rules_are_valid() -> None:
    done = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
