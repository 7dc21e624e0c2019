"""A traced run: what to watch, until when, and into which file."""
