"""What a row counts as: noise, idle time, or something beside the noise."""

from __future__ import annotations

NOISE, IDLE, SIDE = "noise", "idle", "side"
KINDS = (NOISE, IDLE, SIDE)

KIND_MEANING = (
    "`noise`: a victim lost this time; `idle`: the CPU was idle; `side`: no noise, such as page "
    "faults and entries. Only sum rows of one kind"
)
CLASS_MEANING = "first step of the path: `nmi`, `irq`, `ipi`, `timer`, `softirq`, `thread`, …"
SOURCE_MEANING = "what ran: the steps of its path, separated by ` › `"
ORIGIN_MEANING = (
    "whose doing it was: `self`, `program`, `others`, `kernel`, `device`, `outside`, `unattributed`"
)
ASIDE_MEANING = "why the headline is without it: `victim`, `contention`; empty: it has it"
