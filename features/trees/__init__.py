"""Kinds of trees that learners can take beside features: one file each.

Experiments name them by the file names.
"""
