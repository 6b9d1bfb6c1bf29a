"""Files of translation tools: XLIFF, TMX and XLSX, read as segments with note places."""
