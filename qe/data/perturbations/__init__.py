"""Perturbations of translations, one a file: what rubbish, small mistakes and harmless changes look like."""
