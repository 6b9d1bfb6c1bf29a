"""Trained models: pipeline, intervals, explanations, drift; saving and loading."""
