"""Gaps that a spinning thread saw, explained by events."""
