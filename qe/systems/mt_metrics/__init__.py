"""Metrics of MT output against references: every public module is one, and its file name is its name."""
