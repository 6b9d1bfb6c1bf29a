"""Taxonomies of prediction intervals."""

NAMES = {"groups": ("column", "label", "prediction")}
