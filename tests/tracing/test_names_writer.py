from __future__ import annotations

import threading

from noisetop.tracing.names_writer import NamesWriter


def test_new_names_are_written_until_it_is_closed_and_once_more() -> None:
    written = threading.Semaphore(0)
    writer = NamesWriter(written.release)
    writer.start()
    assert written.acquire(timeout=30)
    assert written.acquire(timeout=30)
    writer.close()
    writer.close()
    assert writer._thread is None
    while written.acquire(blocking=False):
        pass
    writer.write_last()
    assert written.acquire(blocking=False)


def test_a_file_that_cannot_be_read_ends_it() -> None:
    def refuse() -> None:
        raise OSError(5, "Input/output error")

    writer = NamesWriter(refuse)
    writer.start()
    assert writer._thread is not None
    writer._thread.join(timeout=30)
    assert not writer._thread.is_alive()
    writer.close()
    writer.write_last()
