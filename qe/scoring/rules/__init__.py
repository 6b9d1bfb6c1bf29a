"""Filtering: parallel text without the pairs that rules and scores refuse."""
