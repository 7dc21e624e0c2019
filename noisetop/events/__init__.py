"""Kernel records and what they become: interruptions, sources, triggers, waits."""
