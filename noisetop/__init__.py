"""See what stole time from your CPUs."""
