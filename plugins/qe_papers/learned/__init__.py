"""Resources that are learned with the machinery of word-level models."""
