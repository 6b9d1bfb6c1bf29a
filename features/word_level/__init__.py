"""Word-level quality estimation, piece by piece: labels, token features, token models, aggregates."""
