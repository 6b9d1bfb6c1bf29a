"""Texts as vectors, by encoders that users bring: a folder of theirs, and what is computed of its vectors."""
