"""Resources that are learned with the machinery of extractors."""

# Modules that hold no strategy, or several: module -> names.
NAMES: dict[str, tuple[str, ...]] = {"reduced": ()}
