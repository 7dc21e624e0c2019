"""What is counted beside the events."""
