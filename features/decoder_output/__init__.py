"""What decoders say of their translations: tokens with log-probabilities, n-best lists, Moses traces."""
