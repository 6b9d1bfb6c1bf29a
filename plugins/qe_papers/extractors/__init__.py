"""Feature families of the papers, one per module."""
