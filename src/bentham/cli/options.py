"""Options shared by several commands."""

from typing import Annotated

import typer

HistorySeed = Annotated[
    int, typer.Option(min=0, metavar="N", help="Random seed for drawing the history.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Number of parallel runs. [dim]\\[default: one per core][/]",
        show_default=False,
    ),
]
