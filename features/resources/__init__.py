"""One kind of resource per file: build, save, load (memory-mapped), fingerprint."""
