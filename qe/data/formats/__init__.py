"""Dataset formats: one file each; the file name is the format's name in experiments."""
