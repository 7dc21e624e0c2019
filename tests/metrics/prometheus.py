"""A Prometheus of our own that scrapes one port, and answers queries."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CONFIGURATION = """\
global: {scrape_interval: %ds, scrape_timeout: %ds, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
  - job_name: noisetop
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""
_PATIENCE_S = 60


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Server:
    """Where it listens."""

    port: int

    def ask(self, path: str, **arguments: str) -> Any:
        """What its HTTP interface answers."""
        query = urllib.parse.urlencode(arguments)
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def rows(self, query: str) -> list[dict[str, Any]]:
        """The series of an instant query, each with ``metric`` and ``value``."""
        data = self.ask("query", query=query)
        if data["resultType"] == "scalar":
            return [{"metric": {}, "value": data["result"]}]
        rows: list[dict[str, Any]] = data["result"]
        return rows

    def value(self, query: str) -> float:
        """Of the only series."""
        [row] = self.rows(query)
        return float(row["value"][1])


@contextlib.contextmanager
def prometheus(
    folder: Path, scraped: int, rules: Path | None = None, interval_s: int = 1
) -> Iterator[Server]:
    """Scrapes a port of this machine."""
    server = Server(free_port())
    text = _CONFIGURATION % (interval_s, interval_s, f'"{rules}"' if rules else "", scraped)
    (folder / "prometheus.yml").write_text(text)
    command = [
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{server.port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
    try:
        end = time.monotonic() + _PATIENCE_S
        while not _is_ready(server):
            assert process.poll() is None, (folder / "prometheus.log").read_text()
            assert time.monotonic() < end, "Prometheus does not answer"
            time.sleep(0.05)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE_S)


def _is_ready(server: Server) -> bool:
    try:
        server.ask("status/buildinfo")
    except (urllib.error.URLError, ConnectionError):
        return False
    return True
