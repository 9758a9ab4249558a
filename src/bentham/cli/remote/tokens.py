"""`bentham token ...`: create, list and revoke access tokens."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.arguments import confirm, seconds_of
from bentham.cli.remote.formatting import day, fields, grid, moment, print_json, show
from bentham.errors import InvalidInput

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.wire import IssuedToken

token_app = typer.Typer(help="Access tokens.", no_args_is_help=True)


@token_app.command("create")
def create(
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE", help="Role: admin, tenant or device (for workers).", show_default=False
        ),
    ],
    tenant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Tenant of the token, for the role tenant.", show_default=False
        ),
    ] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="What the token is for.")] = "",
    expires_in: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Lifetime of the token, for example 12h or 30d. [dim]\\[default: no expiry][/]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the token to this new file, readable by its owner only.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Create a token.

    For example:

    [bold]bentham token create --role device --expires-in 30d --out device.token[/]
    """
    seconds = None if expires_in is None else seconds_of("--expires-in", expires_in)
    with connect(server, token_file) as client:
        if out is None:
            issued = client.issue_token(role, tenant, label, seconds)
        else:
            issued = _issue_into(client, out, role, tenant, label, seconds)
    if as_json:
        print(issued.model_dump_json(exclude=None if out is None else {"secret"}))
    elif out is None:
        print(issued.secret)
        print(
            f"This is token {issued.id}; it is shown only once. Store it in a file that only you "
            "can read (chmod 600).",
            file=sys.stderr,
        )
    else:
        show(fields([("token", issued.id), ("written to", str(out))]))


@token_app.command("list")
def list_tokens(
    as_json: AsJson = False, server: Server = DEFAULT_SERVER, token_file: TokenFile = None
) -> None:
    """List all tokens, without their secrets.

    For example:

    [bold]bentham token list[/]
    """
    with connect(server, token_file) as client:
        tokens = client.tokens()
    if as_json:
        print_json(tokens)
        return
    table = grid(["id", "role", "~tenant", "?~label", "created", "expires"])
    for token in tokens:
        expires = "never" if token.expires is None else moment(token.expires)
        if token.revoked is not None:
            expires = "revoked"
        created = day(token.created)
        table.add_row(token.id, token.role, token.tenant or "-", token.label, created, expires)
    show(table)


@token_app.command("revoke")
def revoke(
    token_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the token.", show_default=False)
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Revoke a token, immediately and permanently.

    For example:

    [bold]bentham token revoke 0123456789ab --yes[/]
    """
    with connect(server, token_file) as client:
        known = next((each for each in client.tokens() if each.id == token_id), None)
        before = None if known is None else known.revoked
        if before is None:
            confirm(f"Revoke token {token_id}? Requests with it will be refused.", yes)
        revoked = client.revoke_token(token_id)
    if as_json:
        print_json(revoked)
    elif before is not None:
        print(f"Token {revoked.id} was revoked at {moment(before)}.")
    else:
        print(f"Revoked token {revoked.id}.")


def _issue_into(
    client: "Client",
    out: Path,
    role: str,
    tenant: str | None,
    label: str,
    seconds: float | None,
) -> "IssuedToken":
    """Create the file, then issue the token: a secret that cannot be saved would be lost."""
    try:
        file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{out} exists already; name another file, or remove it") from None
    try:
        with os.fdopen(file, "w") as opened:
            issued = client.issue_token(role, tenant, label, seconds)
            opened.write(f"{issued.secret}\n")
    except BaseException:
        out.unlink(missing_ok=True)
        raise
    return issued
