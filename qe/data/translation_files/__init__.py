"""Files of translation tools: XLIFF, TMX and XLSX, read as segments with the places of their notes."""
