"""Checks: one thing that can be wrong with a pair of texts a file."""
