"""One kind of resource per file: build, save, load (memory-mapped), fingerprint."""

# Modules that hold no strategy, or several: module -> names.
NAMES: dict[str, tuple[str, ...]] = {"pair_values": (), "phrases": (), "word_sets": ()}
