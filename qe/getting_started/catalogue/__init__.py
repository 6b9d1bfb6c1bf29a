"""Features: what there is, and what it costs."""
