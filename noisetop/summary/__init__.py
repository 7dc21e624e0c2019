"""Events and counters of a period, aggregated."""
