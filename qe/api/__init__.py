"""The Python face: what `import qe` gives."""
