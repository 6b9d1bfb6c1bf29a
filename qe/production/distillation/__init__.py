"""Distillation: a small model that learns from the scores of a large one."""
