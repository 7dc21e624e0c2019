from __future__ import annotations

import queue

from noisetop.tracing.names_writer import NamesWriter


def test_new_names_are_appended_until_it_is_closed() -> None:
    blocks, appended = queue.SimpleQueue[bytes](), queue.SimpleQueue[bytes]()
    for block in (b"a", b"", b"b"):
        blocks.put(block)
    writer = NamesWriter(lambda: b"" if blocks.empty() else blocks.get(), appended.put)
    writer.start()
    assert [appended.get(timeout=30) for _ in "ab"] == [b"a", b"b"]
    writer.close()
    writer.close()
    blocks.put(b"c")
    assert appended.empty()
    writer.write_last()
    assert appended.get_nowait() == b"c"


def test_a_file_that_cannot_be_read_ends_it() -> None:
    def refuse() -> bytes:
        raise OSError(5, "Input/output error")

    writer = NamesWriter(refuse, lambda block: None)
    writer.start()
    assert writer._thread is not None
    writer._thread.join(timeout=30)
    assert not writer._thread.is_alive()
    writer.close()
