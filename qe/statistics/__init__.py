"""Significance: arrays of statistics, an aggregation and a seed in; p-values and intervals out."""
