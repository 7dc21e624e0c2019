"""Makes names from the kernel harmless on a terminal: task, interrupt and cgroup names are written
by whoever runs there, and a terminal obeys what is in them."""

from __future__ import annotations

import unicodedata

_HARMLESS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe"}) | {
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"
}  # fmt: skip
_MERGING = (
    (0x115F, 0x11FF),  # Korean vowels and finals, and their blank fillers
    (0xD7B0, 0xD7FF),
    (0x3164, 0x3164),
    (0xFFA0, 0xFFA0),
    (0x1F3FB, 0x1F3FF),  # skin tones
)
"""Letters and symbols by category that have no cell of their own behind some other character."""


def printable(text: str) -> str:
    """The text with every character that is not a visible glyph of its own as a visible escape.

    That covers control characters and with them escape sequences, bidirectional overrides, joiners,
    combining marks, letters that merge with the one before, line separators, unassigned and private
    characters, lone surrogates, and all spaces but the plain one. The result has no markup
    meaning of its own: give it only to places that do not parse markup.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if _is_harmless(one) else _escape(one) for one in text)


def _is_harmless(character: str) -> bool:
    if unicodedata.category(character) not in _HARMLESS:
        return character == " "
    return not any(first <= ord(character) <= last for first, last in _MERGING)


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
