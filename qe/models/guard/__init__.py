"""Guard: out-of-distribution scores of rows, and their effect on quality scores."""
