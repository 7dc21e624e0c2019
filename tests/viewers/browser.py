"""Opens a page in a real browser without a screen, and waits for what its script reports."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

TIMEOUT_S = 120
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
)
_TYPES = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"}
_TYPES |= {".svg": "image/svg+xml", ".json": "application/json"}


class _Server(http.server.ThreadingHTTPServer):
    """Serves the given files on loopback and keeps what is posted to /report."""

    def __init__(self, files: Mapping[str, bytes | Path]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.report = ""
        self.reported = threading.Event()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:  # the name is the base class's
        content = self.server.files.get(self.path.lstrip("/"))
        if content is None:
            self.send_error(404)
            return
        body = content if isinstance(content, bytes) else content.read_bytes()
        self.send_response(200)
        kind = _TYPES.get(Path(self.path).suffix, "application/octet-stream")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:  # the name is the base class's
        self.server.report = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.send_response(204)
        self.end_headers()
        self.server.reported.set()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: what fails is told by the test."""


def browser_or_skip() -> str:
    """Path of a browser; skips the test where there is none."""
    found = [path for name in _NAMES if (path := shutil.which(name))]
    if not found:
        pytest.skip("no Chromium: install the package chromium to run the viewer tests")
    return found[0]


@contextmanager
def _running(browser: str, url: str) -> Iterator[None]:
    # Not in tmp_path: the browser still writes there for a moment after its end.
    profile = tempfile.mkdtemp(prefix="noisetop-browser-")
    process = subprocess.Popen(
        [browser, *_FLAGS, f"--user-data-dir={profile}", url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


def report_of(page: str, files: Mapping[str, bytes | Path]) -> str:
    """What the script of ``page``, one of ``files``, posts to /report."""
    browser = browser_or_skip()
    server = _Server(files)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with _running(browser, f"http://127.0.0.1:{server.server_port}/{page}"):
            assert server.reported.wait(TIMEOUT_S), f"{page} reported nothing"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    return server.report
