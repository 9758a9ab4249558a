"""Connecting to the server: the options for its address and the token."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentham.errors import InvalidInput

if TYPE_CHECKING:
    from bentham.client import Client

DEFAULT_SERVER = "http://127.0.0.1:8642"
DEFAULT_TOKEN_FILE = Path("bentham-data") / "admin.token"
LARGEST_TOKEN = 4096
PATIENCE = 10.0
CONNECTION = "Connection"

Server = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="Address of the server.",
        envvar="BENTHAM_SERVER",
        rich_help_panel=CONNECTION,
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File with the token, readable by its owner only. [dim]\\[default: the token in "
        f"BENTHAM_TOKEN, else {DEFAULT_TOKEN_FILE} if it exists][/]",
        envvar="BENTHAM_TOKEN_FILE",
        show_default=False,
        rich_help_panel=CONNECTION,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]


def connect(server: str, token_file: Path | None, patience: float | None = None) -> "Client":
    """Return a client for the server."""
    # Imported here, so that commands without a server start faster.
    from bentham.client import Client

    patience = PATIENCE if patience is None else patience
    return Client(server, find_token(token_file), patience=patience)


def find_token(token_file: Path | None) -> str:
    """Return the token from the file, the environment, or a server run in this directory."""
    if token_file is not None:
        return read_token(token_file)
    if token := os.environ.get("BENTHAM_TOKEN", "").strip():
        return token
    if DEFAULT_TOKEN_FILE.exists():
        return read_token(DEFAULT_TOKEN_FILE)
    raise InvalidInput(
        "no token; name the file that holds it with --token-file (or BENTHAM_TOKEN_FILE)"
    )


def read_token(path: Path) -> str:
    """Read a token from a file; raise InvalidInput if other users can read the file."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(LARGEST_TOKEN + 1)
    except FileNotFoundError:
        raise InvalidInput(
            f"{path}: no such file; an operator can create one: bentham token create --out FILE"
        ) from None
    if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o077:
        raise InvalidInput(
            f"{path} holds a token and can be read by others; restrict it: chmod 600 {path}"
        )
    try:
        token = content.decode("ascii").strip()
    except UnicodeDecodeError:
        token = " "
    if not token:
        raise InvalidInput(f"{path} is empty; write a token to it: bentham token create --out FILE")
    if len(content) > LARGEST_TOKEN or not token.isprintable() or " " in token:
        raise InvalidInput(f"{path} does not hold a token; name another file")
    return token
