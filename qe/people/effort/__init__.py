"""Post-editing effort: what was changed, and which changes go with the effort that people perceive."""
