"""Translation with our own phrase table: a small decoder, forced segmentation."""
