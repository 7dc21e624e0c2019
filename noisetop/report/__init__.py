"""The report of a recording as text."""
