"""What alembic runs: the migrations, on the connection and in the transaction it is given."""

from alembic import context

from bentham.storage.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # SQLite too: the connection begins its transactions itself
)
with context.begin_transaction():
    context.run_migrations()
