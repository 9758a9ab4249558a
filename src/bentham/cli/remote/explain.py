"""`bentham explain`: why a trial was chosen."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.formatting import (
    cell,
    fields,
    grid,
    moment,
    number,
    plain,
    print_json,
    show,
    span,
)
from bentham.errors import ServiceError

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.wire import DecisionView, RunnerUpView

REASONS = {
    "policy": "Of all models that could be run, this one had the highest expected improvement "
    "per unit of expected cost.",
    "warm-start": "Its study was new: every study first runs a few models regardless of their EI "
    "rate, to get its first scores.",
    "starvation-guard": "Its study had waited too long while others were served, so it was "
    "next, although another model had a higher EI rate.",
}
RULES = {
    "weights": "weights",
    "running-trials": "limit on running trials",
    "device-time": "limit on device time",
    "starvation-guard": "starvation guard",
}
Naming = Callable[[str], str]


def explain(
    decision: Annotated[
        str,
        typer.Argument(
            metavar="DECISION",
            help="Id of the decision, which is the id of its trial.",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Explain why a trial was chosen: which studies gain how much, its cost, and the runners-up.

    [bold]bentham trial list[/] shows the ids. For example:

    [bold]bentham explain t_0123456789abcdef[/]
    """
    with connect(server, token_file) as client:
        found = client.decision(decision)
        if as_json:
            print_json(found)
        else:
            show(*page(found, _names(client)))


def page(decision: "DecisionView", name_of: Naming) -> list[RenderableType]:
    """Render the decision as text and tables; `name_of` maps a study's id to its name."""
    dataset = f" on {decision.dataset}" if decision.dataset else ""
    parts: list[RenderableType] = [
        Text(plain(f"Run {decision.model}{dataset}"), style="bold"),
        fields(
            [
                ("for", f"{name_of(decision.study)}, a study of {decision.tenant}"),
                ("on", f"device {decision.device}, at {moment(decision.time)}"),
                ("decision", decision.id),
            ]
        ),
        Text(f"\n{REASONS[decision.reason]}\n"),
        fields(
            [
                (
                    "expected improvement",
                    f"{number(decision.expected_improvement)}, weighted, over all studies that "
                    "list it",
                ),
                ("expected cost", f"{span(decision.cost)} of device time"),
                ("EI rate", f"{number(decision.rate)} per second"),
            ]
        ),
    ]
    if decision.gains:
        table = grid(
            ["~study", "~tenant", ">improvement", ">weight", ">weighted"], "\nGain per study"
        )
        for gain in decision.gains:
            table.add_row(
                cell(name_of(gain.study)),
                cell(gain.tenant),
                number(gain.expected_improvement / gain.weight if gain.weight else None),
                number(gain.weight),
                number(gain.expected_improvement),
            )
        parts.append(table)
    if decision.runners_up:
        table = grid(["~model", "~dataset", "~study", "~tenant", ">value"], "\nRunners-up")
        if decision.value is not None:
            chosen = (
                "(this one)",
                decision.dataset or "-",
                name_of(decision.study),
                decision.tenant,
            )
            table.add_row(*map(cell, chosen), number(decision.value), style="dim")
        for runner_up in decision.runners_up:
            names = (
                runner_up.model,
                runner_up.dataset or "-",
                name_of(runner_up.study),
                runner_up.tenant,
            )
            table.add_row(*map(cell, names), number(runner_up.value))
        parts.append(table)
    parts += _changes(decision, name_of)
    return parts


def _changes(decision: "DecisionView", name_of: Naming) -> list[RenderableType]:
    if not decision.changes:
        return [Text("\nNo rule visible to you changed the outcome.")]
    parts: list[RenderableType] = [Text("\nRules that changed the outcome", style="bold")]
    for change in decision.changes:
        instead = (
            "the model it displaced belongs to another tenant"
            if change.instead is None
            else f"otherwise: {_arm(change.instead, name_of)}"
        )
        text = f"The {RULES[change.rule]}: {change.detail}; {instead}."
        parts.append(Padding(Text(plain(text)), (0, 0, 0, 2)))
    return parts


def _arm(arm: "RunnerUpView", name_of: Naming) -> str:
    dataset = f" on {arm.dataset}" if arm.dataset else ""
    return f"{arm.model}{dataset} for {name_of(arm.study)} of {arm.tenant}"


def _names(client: "Client") -> Naming:
    names: dict[str, str] = {}

    def name_of(study: str) -> str:
        if study not in names:
            try:
                names[study] = client.study(study).name
            except ServiceError:  # the id is enough if the name cannot be read
                names[study] = study
        return names[study]

    return name_of
