"""The live dashboard. Widgets are given samples and never read the kernel."""
