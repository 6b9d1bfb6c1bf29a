"""MT systems: comparison, choice among their translations, documents."""
