from __future__ import annotations

import threading

from noisetop.tracing.symbol_writer import SymbolWriter


def test_new_names_are_written_until_it_is_closed() -> None:
    written = threading.Semaphore(0)
    writer = SymbolWriter(written.release)
    writer.start()
    assert written.acquire(timeout=30)
    assert written.acquire(timeout=30)
    writer.close()
    writer.close()
    assert writer._thread is None


def test_a_file_that_cannot_be_read_ends_it() -> None:
    def refuse() -> None:
        raise OSError(5, "Input/output error")

    writer = SymbolWriter(refuse)
    writer.start()
    assert writer._thread is not None
    writer._thread.join(timeout=30)
    assert not writer._thread.is_alive()
    writer.close()
