"""Errors, hints, catalogues, progress, threads: what every other room uses."""
