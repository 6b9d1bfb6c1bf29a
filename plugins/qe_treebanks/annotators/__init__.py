"""Annotators, one task per module, trained from users' treebanks for the project's tokens."""
