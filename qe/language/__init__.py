"""Annotates and translates text with external programs and models."""
