"""Views: what callers see of the pool, as plain JSON values; and the queries."""
