"""Predictions against labels: metrics with intervals, comparisons, leaderboards, plots."""
