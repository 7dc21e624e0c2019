from __future__ import annotations

import os
from pathlib import Path

from noisetop.machine.files import Files
from noisetop.machine.process_maps import (
    Mapping,
    mapping_at,
    open_mapped,
    parse_maps,
    path_here,
    read_maps,
)

MAPS = """\
55d0c0400000-55d0c0401000 r--p 00000000 fe:01 42                         /usr/bin/sender
55d0c0401000-55d0c0403000 r-xp 00001000 fe:01 42                         /usr/bin/sender
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f1000000000-7f1000002000 r-xp 00026000 fe:01 77                         /lib/a b\\012c.so (deleted)
7ffe00000000-7ffe00001000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""


def test_the_code_of_a_process() -> None:
    program, anonymous, library, vdso, _ = maps = parse_maps(MAPS)
    assert program == Mapping(
        0x55D0C0401000, 0x55D0C0403000, 0x1000, "fe:01", 42, "/usr/bin/sender"
    )
    assert (anonymous.path, anonymous.inode) == ("", 0)
    assert (library.path, library.name) == ("/lib/a b\nc.so", "a b\nc.so")
    assert (vdso.name, vdso.inode) == ("[vdso]", 0)
    assert mapping_at(maps, 0x55D0C0402FFF) is program
    assert mapping_at(maps, 0x55D0C0403000) is None


def test_what_is_no_map_is_left_out() -> None:
    text = f"\0\nnothing\n{'f' * 17}-2 r-xp 0 0:0 0\n1-2 r-xp 0 0:0 {'9' * 30} /x\n" + MAPS
    assert parse_maps(text) == parse_maps(MAPS)


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    assert read_maps(7, Files(tmp_path)) == ()


def test_a_mapped_file_is_opened_as_its_process_sees_it(tmp_path: Path) -> None:
    inside = tmp_path / "proc/7/root/usr/bin"
    inside.mkdir(parents=True)
    (inside / "sender").write_text("code")
    inode = (inside / "sender").stat().st_ino
    mapping = Mapping(0x1000, 0x2000, 0, "fe:01", inode, "/usr/bin/sender")
    files = Files(tmp_path)
    fd = open_mapped(7, mapping, files)
    assert os.pread(fd, 9, 0) == b"code"
    os.close(fd)
    assert path_here(7, mapping, files) == "/proc/7/root/usr/bin/sender"
    (inside / "sender").rename(inside / "other")
    (inside / "sender").write_text("another one")
    assert open_mapped(7, mapping, files) == -1


def test_no_fifo_is_taken_for_a_mapped_file(tmp_path: Path) -> None:
    inside = tmp_path / "proc/7/root"
    inside.mkdir(parents=True)
    os.mkfifo(inside / "trap")
    inode = (inside / "trap").stat().st_ino
    assert open_mapped(7, Mapping(0, 1, 0, "fe:01", inode, "/trap"), Files(tmp_path)) == -1
