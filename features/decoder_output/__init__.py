"""Decoder output: tokens with log-probabilities, n-best lists, Moses traces."""
