"""Feature selectors: one file each; the file name is the selector's name in experiments."""
