"""Two runs side by side: what changed, and whether that can be chance."""
