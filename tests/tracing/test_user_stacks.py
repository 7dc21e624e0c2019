"""Without a kernel, and without libdw: what is shown then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from noisetop.machine.process_maps import read_maps
from noisetop.tracing import user_stacks
from noisetop.tracing.user_stacks import ENDED, HIDDEN, NO_LIBRARY, UserStackWatch
from tests.recordings import layout

STACKS = {
    3: [0x401010, 0x402020, 0x402030],
    4: [0x401010, 0x700123, 0xDEAD, 0x402020],
    5: [0x500010],
    6: [],
}
NO_STACK = 0xFFFFFFFF
PF_FORKNOEXEC = 0x40


def process(root: Path, tid: int, name: str, start: int = 0x401000) -> None:
    inside = root / f"proc/{tid}/root/bin"
    inside.mkdir(parents=True, exist_ok=True)
    (inside / name).write_text("no ELF file")
    inode = (inside / name).stat().st_ino
    (root / f"proc/{tid}/maps").write_text(
        f"{start:x}-{start + 0x2000:x} r-xp 00001000 fe:01 {inode} /bin/{name}\n"
        "700000-701000 rwxp 00000000 00:00 0\n"
    )


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[UserStackWatch]:
    (tmp_path / "proc/2").mkdir(parents=True)
    (tmp_path / "proc/2/comm").write_text("kthreadd\n")
    process(tmp_path, 7, "sender")
    watch = UserStackWatch(STACKS.__getitem__, root=tmp_path, library="libdw-is-not-here.so")
    yield watch
    watch.close()


def names(*rows: tuple[int, str, int], task_flags: int = 0) -> npt.NDArray[np.void]:
    """Records: tid, name, moment."""
    dtype = layout().task_name
    assert dtype is not None
    records = np.zeros(len(rows), dtype)
    for record, (tid, comm, time_ns) in zip(records, rows, strict=True):
        record["tid"], record["tgid"], record["comm"] = tid, tid, comm.encode()
        record["time_ns"], record["task_flags"] = time_ns, task_flags
    return records


def triggers(*rows: tuple[int, int, int]) -> npt.NDArray[np.void]:
    """Records: tid, user stack, moment."""
    records = np.zeros(len(rows), layout().trigger)
    for record, (tid, stack, time_ns) in zip(records, rows, strict=True):
        record["tid"], record["user_stack"], record["time_ns"] = tid, stack, time_ns
    return records


def test_without_libdw_files_and_offsets_are_shown_and_what_to_install(
    watch: UserStackWatch,
) -> None:
    watch.note(names((7, "sender", 10)), triggers((7, 3, 20), (7, NO_STACK, 30), (7, 6, 40)))
    # Callers are before the address that they go on from.
    assert watch.named() == {
        (7, 3): ("sender+0x1010", "sender+0x201f", "sender+0x202f"),
        (7, 6): (),
    }
    assert watch.problem == NO_LIBRARY


def test_code_without_a_file_is_shown_and_what_is_no_code_ends_a_stack(
    watch: UserStackWatch,
) -> None:
    watch.note(names(), triggers((7, 4, 20)))
    assert watch.named() == {(7, 4): ("sender+0x1010", "0x700122 (no file)")}


def test_a_program_that_was_gone_has_addresses_and_the_reason(watch: UserStackWatch) -> None:
    watch.note(names((8, "short", 10)), triggers((8, 3, 20), (8, 6, 30)))
    assert watch.named() == {(8, 3): ("0x401010", "0x40201f", f"0x40202f ({ENDED})"), (8, 6): ()}
    assert not watch.problem


def test_maps_are_kept_when_the_process_is_gone(watch: UserStackWatch, tmp_path: Path) -> None:
    watch.note(names((7, "sender", 10)), triggers((7, 3, 20)))
    (tmp_path / "proc/7/maps").unlink()
    watch.note(names(), triggers((7, 4, 30)))
    assert watch.named()[7, 4][0] == "sender+0x1010"


def test_maps_are_read_again_where_an_address_does_not_fit(
    watch: UserStackWatch, tmp_path: Path
) -> None:
    watch.note(names(), triggers((7, 3, 20)))
    process(tmp_path, 7, "loaded", start=0x500000)
    watch.note(names(), triggers((7, 5, 30)))
    assert watch.named()[7, 5] == ("loaded+0x1010",)


def test_maps_are_read_once_for_many_stacks_that_fit_nowhere(
    watch: UserStackWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = mock.Mock(wraps=read_maps)
    monkeypatch.setattr(user_stacks, "read_maps", reads)
    nowhere = [[0x401010, 0xDEAD0 + number] for number in range(50)]
    monkeypatch.setattr(watch, "addresses_of", nowhere.__getitem__)
    for moment in (20, 30):
        numbers = range(moment, moment + 10)
        watch.note(names(), triggers(*((7, number, moment) for number in numbers)))
    assert reads.call_count == 2
    assert set(watch.named().values()) == {("sender+0x1010",)}


def test_a_stack_from_before_another_program_took_its_place(
    watch: UserStackWatch, tmp_path: Path
) -> None:
    watch.note(names((7, "sh", 10)), triggers())
    watch.note(names((7, "sender", 30)), triggers((7, 3, 20), (7, 4, 40)))
    named = watch.named()
    assert named[7, 3] == ("0x401010", "0x40201f", f"0x40202f ({ENDED})")
    assert named[7, 4][0] == "sender+0x1010"
    process(tmp_path, 7, "next")
    watch.note(names((7, "next", 50)), triggers((7, 5, 60)))
    assert watch.named()[7, 5] == ()


def test_a_thread_that_named_itself_is_the_same_program(watch: UserStackWatch) -> None:
    """Its new name is told when it goes on, after it was interrupted under it."""
    watch.note(names((7, "sender", 10), task_flags=PF_FORKNOEXEC), triggers())
    watch.note(names((7, "competitor", 30), task_flags=PF_FORKNOEXEC), triggers((7, 3, 20)))
    assert watch.named()[7, 3][0] == "sender+0x1010"


def test_in_a_pid_namespace_no_process_is_taken_for_another(
    watch: UserStackWatch, tmp_path: Path
) -> None:
    (tmp_path / "proc/2/comm").write_text("bash\n")
    watch.note(names((7, "sender", 10)), triggers((7, 3, 20)))
    assert watch.named()[7, 3][-1] == f"0x40202f ({HIDDEN})"
