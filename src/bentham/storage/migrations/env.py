"""The entry point of Alembic: runs the migrations on the given connection, in its transaction."""

from alembic import context

from bentham.storage.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # for SQLite, too: its connection begins transactions explicitly
)
with context.begin_transaction():
    context.run_migrations()
