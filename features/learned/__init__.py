"""Resources that are learned with the machinery of extractors."""
