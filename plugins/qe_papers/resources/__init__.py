"""Resources of the papers' feature families, one kind per module."""
