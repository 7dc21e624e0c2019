"""nginx under ab: a request for a small file on each connection."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.workloads import Place, Work, Workload, on_cpu, output_of, server

_PORT = 16380
_REQUESTS = "8000"
_CONFIG = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


def parse(text: str) -> Work:
    """What ``ab`` prints; its percentiles are in ms."""
    rate = re.search(r"Requests per second:\s+([\d.]+)", text)
    p99 = re.search(r"(?m)^\s+99%\s+(\d+)", text)
    if rate is None:
        raise ValueError("ab told no rate")
    return Work(float(rate[1]), 1_000 * float(p99[1]) if p99 else None)


def _listens() -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", _PORT)) == 0


@contextmanager
def _run(place: Place) -> Iterator[Callable[[], Work]]:
    (place.folder / "small").write_text("x" * 512)
    config = place.folder / "nginx.conf"
    config.write_text(_CONFIG.format(folder=place.folder, port=_PORT))
    place.folder.chmod(0o755)
    client = ["ab", "-q", "-n", _REQUESTS, "-c", "16", f"http://127.0.0.1:{_PORT}/small"]
    with server(on_cpu(place.cpu, ["nginx", "-c", config]), _listens):
        yield lambda: parse(output_of(on_cpu(place.other, client)))


WORKLOADS = (
    Workload(
        "nginx", ("nginx", "ab", "taskset"), "apt-get install nginx-light apache2-utils", _run
    ),
)
