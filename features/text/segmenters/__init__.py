"""Programs that split texts without blanks into words, one a file; each needs its package."""
