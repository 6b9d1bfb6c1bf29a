"""Reports for people: one self-contained HTML page per training run and per scored file."""
