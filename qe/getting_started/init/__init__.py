"""Beginning: a first experiment for a table of one's own."""
