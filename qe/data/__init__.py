"""Datasets: formats, labels, splits, checks, files of scores."""
