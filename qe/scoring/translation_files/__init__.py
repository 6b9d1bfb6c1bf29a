"""Files of translators: XLIFF, TMX and XLSX, scored in place."""
