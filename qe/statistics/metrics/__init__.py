"""Metrics of QE predictions: one file each; the file name is the metric's name."""
