"""Samples of a running trace, and of a recording played back, for whatever shows them."""
