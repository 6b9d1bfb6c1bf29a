"""Feature families of the papers, one a module."""
