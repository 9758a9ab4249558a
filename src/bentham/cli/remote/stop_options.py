"""The options that say when a study stops."""

from typing import TYPE_CHECKING, Annotated

import typer

from bentham.cli.remote.arguments import time_of

if TYPE_CHECKING:
    from bentham.wire import StopRules

_PANEL = "When it stops"

MaxTrials = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Stop after this many trials (lost trials do not count). "
        "[dim]\\[default: no limit][/]",
        rich_help_panel=_PANEL,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Stop after this much device time, in seconds. [dim]\\[default: no limit][/]",
        rich_help_panel=_PANEL,
    ),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Stop at this time: 2026-11-16T18:00 (local time unless it has a zone), or from "
        "now: +30m, +2h. Units are s, m, h, d and w. [dim]\\[default: none][/]",
        rich_help_panel=_PANEL,
    ),
]
MinGain = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        help="Stop when no untried model is expected to improve the best score by this much, "
        "in units of the score. [dim]\\[default: no such rule][/]",
        rich_help_panel=_PANEL,
    ),
]
Exhaust = Annotated[
    bool,
    typer.Option(
        "--exhaust",
        help="Train every model. Without this option, a study with a known baseline stops when all "
        "its untried models together are expected to add less than 0.1 % of its gain over the "
        "baseline so far.",
        rich_help_panel=_PANEL,
    ),
]
ExhaustReopened = Annotated[
    bool,
    typer.Option(
        "--exhaust",
        help="Train every model; the default if a stop rule closed the study.",
        rich_help_panel=_PANEL,
    ),
]


def stop_rules(
    trials: int | None, cost: float | None, deadline: str | None, gain: float | None, exhaust: bool
) -> "StopRules":
    """Return the stop rules that the options ask for."""
    from bentham.client.connection import request_body
    from bentham.wire import StopRules

    rules = {
        "trials": trials,
        "cost": cost,
        "deadline": None if deadline is None else time_of("--deadline", deadline),
        "expected_gain": gain,
        "gain_share": 0.0 if exhaust else None,
    }
    return request_body(
        StopRules, **{name: value for name, value in rules.items() if value is not None}
    )
