"""noisetop started and killed again and again on a machine that is stirred: ``make torture``."""
