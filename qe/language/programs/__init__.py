"""Programs outside: taggers, translation engines, the columns they make."""
