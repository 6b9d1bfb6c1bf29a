"""Segments, extractors, resources, bundles and feature sets."""
