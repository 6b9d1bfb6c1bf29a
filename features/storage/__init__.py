"""Files: atomic writing, locks, checksums, arrays, strict YAML."""
