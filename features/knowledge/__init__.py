"""Inputs of models of words in addition to the text."""

# Modules that hold several kinds: module -> names.
NAMES: dict[str, tuple[str, ...]] = {
    "kinds": ("decoder", "encoder", "predictor", "pretrained", "synthetic", "vectors")
}
