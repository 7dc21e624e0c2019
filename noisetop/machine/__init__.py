"""What /proc and /sys say about this machine, read in one place."""
