"""Two runs side by side: what changed, with significance tests."""
