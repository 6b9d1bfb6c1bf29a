"""Correlations of metrics with human judgements: one a file; the file name is its name."""
