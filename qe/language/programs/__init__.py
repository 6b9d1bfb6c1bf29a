"""External programs: taggers, translation engines, and the columns that they produce."""
