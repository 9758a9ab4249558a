"""Migrations of the database, run by `bentham.storage.schema` through Alembic."""
