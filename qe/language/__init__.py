"""Annotate and translate text with programs and models from outside the project."""
