"""The log, which the database itself makes append-only, and snapshots of its fold."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# A snapshot is stored in parts, so that saving a large one does not delay appends; it exists once
# its row in `snapshots` is written.
SQLITE = (
    """
    CREATE TABLE events (
        sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
        time REAL NOT NULL,
        kind TEXT NOT NULL,
        version INTEGER NOT NULL,
        actor TEXT NOT NULL,
        request TEXT NOT NULL,
        tenant TEXT NOT NULL,
        key TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TRIGGER events_are_not_updated BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
    """,
    """
    CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
    """,
    # INSERT OR REPLACE deletes without firing the trigger above; this one also rejects gaps.
    """
    CREATE TRIGGER events_follow_each_other BEFORE INSERT ON events
    WHEN NEW.sequence <> (SELECT coalesce(max(sequence), 0) + 1 FROM events)
    BEGIN SELECT RAISE(ABORT, 'events are append-only, without gaps'); END
    """,
    "CREATE TABLE snapshots (sequence INTEGER PRIMARY KEY, size INTEGER NOT NULL) STRICT",
    """
    CREATE TABLE snapshot_parts (
        sequence INTEGER NOT NULL,
        part INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (sequence, part)
    ) STRICT
    """,
)
POSTGRESQL = (
    """
    CREATE TABLE events (
        sequence bigint PRIMARY KEY CHECK (sequence > 0),
        time double precision NOT NULL,
        kind text NOT NULL,
        version bigint NOT NULL,
        actor text NOT NULL,
        request text NOT NULL,
        tenant text NOT NULL,
        key text NOT NULL,
        body text NOT NULL
    )
    """,
    """
    CREATE FUNCTION events_are_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$
    """,
    """
    CREATE TRIGGER events_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION events_are_append_only()
    """,
    "CREATE TABLE snapshots (sequence bigint PRIMARY KEY, size bigint NOT NULL)",
    """
    CREATE TABLE snapshot_parts (
        sequence bigint NOT NULL,
        part bigint NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (sequence, part)
    )
    """,
    # Parts are already compressed: do not compress them again.
    "ALTER TABLE snapshot_parts ALTER COLUMN data SET STORAGE EXTERNAL",
)


def upgrade() -> None:
    """Create the tables."""
    statements = SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL
    for statement in statements:
        op.execute(statement)
