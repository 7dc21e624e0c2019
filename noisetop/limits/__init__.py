"""Limits on the noise, for builds that fail when one is exceeded: ``--fail-on``."""
