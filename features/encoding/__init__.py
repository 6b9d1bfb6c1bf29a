"""Texts as vectors, by encoders in folders that users bring, and values from vectors."""
