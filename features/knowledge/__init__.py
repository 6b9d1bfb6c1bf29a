"""What models of words can know beside the text: one kind of knowledge a file."""
