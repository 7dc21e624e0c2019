from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.symbols import SymbolTable, read_kallsyms

KERNEL = SymbolTable(
    b"ffff1000 T first\nffff2000 t second\t[module]\n".replace(b"ffff", b"0" * 8 + b"ffff")
)


@pytest.mark.parametrize(
    ("address", "name"),
    [(0xFFFF1000, "first"), (0xFFFF1004, "first"), (0xFFFF2000, "second"), (0x10, "0x10")],
)
def test_an_address_belongs_to_the_function_before_it(address: int, name: str) -> None:
    assert KERNEL.name(address) == name


def test_a_subset_names_its_addresses_and_no_others() -> None:
    some = KERNEL.subset([0xFFFF1004, 0x10])
    assert some.name(0xFFFF1004) == "first"
    assert [some.name(address) for address in (0x10, 0xFFFF2000)] == ["0x10", "0xffff2000"]
    assert not KERNEL.subset([0x10])


def test_tables_add_up() -> None:
    both = KERNEL.subset([0xFFFF1000]).joined(KERNEL.subset([0xFFFF2000]), complete=False)
    unpacked = SymbolTable.unpack(both.pack())
    assert [unpacked.name(address) for address in (0xFFFF1000, 0xFFFF2000)] == ["first", "second"]


@pytest.mark.parametrize("asked_before", [False, True])
def test_of_several_names_it_is_the_first_however_it_is_found(asked_before: bool) -> None:
    table = SymbolTable(b"".join(b"00000000ffff%d000 T %s\n" % (at, name) for at, name in [
        (1, b"one"), (2, b"two"), (2, b"alias"), (3, b"three"),
    ]))  # fmt: skip
    if asked_before:
        assert table.name(0xFFFF1004) == "one"
    assert table.name(0xFFFF2000) == "two"
    assert table.name(0xFFFF3000) == "three"


@given(numbers=st.lists(st.integers(1, 50), min_size=1, max_size=20), ordered=st.booleans())
def test_each_address_is_found_in_order_or_not(numbers: list[int], ordered: bool) -> None:
    listed = sorted(numbers) if ordered else list(dict.fromkeys(numbers))
    names = [f"f{place}" for place in range(len(listed))]
    lines = (f"{number:016x} t {name}\n" for number, name in zip(listed, names, strict=True))
    table = SymbolTable("".join(lines).encode(), complete=False)
    first = dict(reversed(list(zip(listed, names, strict=True))))
    assert {number: table.name(number) for number in range(51)} == {
        number: first.get(number, f"{number:#x}") for number in range(51)
    }


@pytest.mark.parametrize("address", [b"0000000000000000", b"00000000"])
def test_zeros_name_nothing(tmp_path: Path, address: bytes) -> None:
    file = tmp_path / "kallsyms"
    names = (b"_stext", b"tick_nohz_handler", b"tick_sched_timer")
    file.write_bytes(b"".join(b"%s T %s\n" % (address, name) for name in names))
    table = read_kallsyms(file)
    assert not table
    assert table.address("tick_nohz_handler") == 0
    assert table.name(0xFFFFFFFF81000000) == "0xffffffff81000000"
