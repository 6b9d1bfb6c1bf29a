"""Ways to choose among the outputs of several MT systems; one per file."""
