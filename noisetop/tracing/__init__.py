"""The kernel side: programs attached, rings drained, machine watched."""
