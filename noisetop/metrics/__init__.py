"""Metrics for Prometheus: what a running trace adds up to, as counters that never decrease."""
