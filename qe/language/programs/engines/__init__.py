"""Translation engines, one per file; a file's name is the engine's."""
