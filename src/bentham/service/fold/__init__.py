"""The fold: events, how they change the pool, and how the pool is saved and recovered."""
