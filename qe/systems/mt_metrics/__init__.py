"""Metrics of MT output against references.

Every public module is one, and its file name is its name.
"""
