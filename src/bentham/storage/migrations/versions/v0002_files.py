"""Files: the data that studies train on, by the hash of their content."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# A file is stored in parts, so that saving a large one does not delay appends; it exists once its
# row in `files` is written.
SQLITE = (
    "CREATE TABLE files (key TEXT PRIMARY KEY, size INTEGER NOT NULL) STRICT",
    """
    CREATE TABLE file_parts (
        key TEXT NOT NULL,
        part INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (key, part)
    ) STRICT
    """,
)
POSTGRESQL = (
    "CREATE TABLE files (key text PRIMARY KEY, size bigint NOT NULL)",
    """
    CREATE TABLE file_parts (
        key text NOT NULL,
        part bigint NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (key, part)
    )
    """,
)


def upgrade() -> None:
    """Create the tables."""
    statements = SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL
    for statement in statements:
        op.execute(statement)
