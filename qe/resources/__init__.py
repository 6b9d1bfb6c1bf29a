"""Bundles of resources: their inputs and settings, what they are built from, the cache."""
