"""Annotators: one task a file, trained from treebanks of users. They run on the project's tokens."""
