"""Resources learned with the classes of word-level models."""
