"""Options that several commands have."""

from typing import Annotated

import typer

HistorySeed = Annotated[int, typer.Option(min=0, metavar="N", help="Draws the histories.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Runs at a time. [dim]\\[default: one per core][/]",
        show_default=False,
    ),
]
