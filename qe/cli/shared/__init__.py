"""What verbs share, those of plugins too: options, output, progress."""
