"""What noisetop costs, measured next to its peers in one run: ``python -m bench``."""
