"""Encoders of the user: made of a package, fetched from a hub, listed, checked, quantized."""
