"""Files of human judgements: one format each; the file name is the format's name."""
