"""Feature selectors: one file each; the file name is the selector's name in experiments."""

# Modules that hold no strategy, or several: module -> names.
NAMES: dict[str, tuple[str, ...]] = {
    "checks": (),
    "held_out": (),
    "hints": (),
    "names": (),
    "paths": (),
}
