"""Columns of parse trees, for learners with tree kernels."""
