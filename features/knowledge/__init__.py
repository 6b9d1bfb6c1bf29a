"""Inputs of models of words in addition to the text."""
