"""Unsupervised: a model of translations that nobody has judged."""
