"""Taxonomies of prediction intervals: one way to sort segments into groups a file."""
