"""The live dashboard. Widgets show samples and never read the kernel."""
