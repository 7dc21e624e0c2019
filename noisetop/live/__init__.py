"""Samples of a running trace, for whatever shows them."""
