"""Post-editing effort: what was changed, and which changes go with perceived effort."""
