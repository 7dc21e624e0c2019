"""``python -m noisetop``."""

from noisetop.cli import main

main()
