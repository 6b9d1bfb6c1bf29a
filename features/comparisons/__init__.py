"""Texts as bags of n-grams, and a text against a second translation."""
