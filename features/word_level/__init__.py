"""Word-level quality estimation: labels, token features, token models, aggregates."""
