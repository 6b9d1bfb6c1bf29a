"""Perturbations of translations, one a file: rubbish, small mistakes, harmless changes."""
