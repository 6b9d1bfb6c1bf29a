"""Parses: morphology and heads of words, trees, tree kernels, entity types."""
