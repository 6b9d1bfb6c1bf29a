"""Annotate and translate text: annotators trained here, programs outside."""
