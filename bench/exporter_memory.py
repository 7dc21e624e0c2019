"""``python -m bench.exporter_memory MINUTES``: the memory of the exporter while it is scraped, and
tasks under ever new names take the CPU that it watches. A CSV line for each ten seconds."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np

from noisetop.machine.system import online_cpus

_PORT = 19977
_EVERY_S = 10
_SETTLED = 1 / 3
"""Share of the time after which memory has its size."""
_STORM = """
import ctypes, os, itertools, time
os.sched_setaffinity(0, {{{cpu}}})
prctl = ctypes.CDLL(None).prctl
letters = str.maketrans("0123456789", "abcdefghij")
for number in itertools.count():
    if not os.fork():
        prctl(15, ("s-%d" % number).translate(letters).encode())
        time.sleep(0.002)
        os._exit(0)
    os.wait()
    if os.getppid() == 1:
        break
"""


def main(minutes: float) -> int:
    """Prints the course and at the end the growth of the settled part."""
    cpu = max(online_cpus())
    program = Path(sys.executable).with_name("noisetop")
    storm = subprocess.Popen([sys.executable, "-c", _STORM.format(cpu=cpu)])
    exporter = subprocess.Popen([program, "exporter", "-c", str(cpu), "--listen", str(_PORT)])
    # The storm may be niced, as it is only there to be watched.
    os.setpriority(os.PRIO_PROCESS, exporter.pid, 0)
    end = time.monotonic() + minutes * 60
    rows: list[tuple[float, int]] = []
    print("seconds,rss_kib,series,scrape_ms", flush=True)
    try:
        while time.monotonic() < end and exporter.poll() is None:
            time.sleep(_EVERY_S)
            start = time.monotonic()
            with urllib.request.urlopen(f"http://127.0.0.1:{_PORT}/metrics") as answer:
                text = answer.read().decode()
            took_ms = (time.monotonic() - start) * 1e3
            status = Path(f"/proc/{exporter.pid}/status").read_text()
            rss_kib = int(re.findall(r"VmRSS:\s+(\d+)", status)[0])
            passed_s = minutes * 60 - (end - start)
            rows.append((passed_s, rss_kib))
            series = sum(line[:1] not in ("#", "") for line in text.splitlines())
            print(f"{passed_s:.0f},{rss_kib},{series},{took_ms:.1f}", flush=True)
    finally:
        exporter.send_signal(signal.SIGTERM)
        storm.kill()
        exporter.wait()
        storm.wait()
    seconds, rss = np.array(rows[int(len(rows) * _SETTLED) :]).T
    slope = np.polyfit(seconds, rss, 1)[0]
    print(f"settled: {rss.min():.0f} to {rss.max():.0f} KiB, {slope * 60:+.1f} KiB a minute")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
