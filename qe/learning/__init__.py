"""Learners and selectors, one a file."""
