"""Recordings on disk: written, read and opened."""
