"""Active measurements: what a thread on a CPU really sees, checked against the trace."""
