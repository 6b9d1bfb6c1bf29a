"""Annotators: one task a file, trained from treebanks that users give, run on the project's tokens."""
