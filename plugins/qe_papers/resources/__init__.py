"""Resources of the papers' feature families, one kind a module."""
