"""Learners of the papers."""
