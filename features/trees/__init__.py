"""Kinds of trees that learners can take beside features: one file each, named as in experiments."""
