"""Learners: one file each; the file name is the learner's name in experiments."""
