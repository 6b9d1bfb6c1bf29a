"""The scoring server: what a request may ask for, how it is read, scored and answered."""
