"""What extractors and resources are made of."""
