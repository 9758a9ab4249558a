"""The fold: events, what they make of the pool, and how it is stored and read back."""
