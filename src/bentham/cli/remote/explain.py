"""`bentham explain`: why a trial was chosen, and what a study runs next."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.arguments import find_study
from bentham.cli.remote.formatting import (
    fields,
    figures,
    grid,
    moment,
    number,
    plain,
    print_json,
    rate,
    rates,
    show,
    span,
)
from bentham.errors import NotFound, ServiceError
from bentham.wording import short_number

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.wire import DecisionView, Next, RunnerUpView, StudyView

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
TRIAL_ID = re.compile(r"t_[0-9a-z]{16}")
Naming = Callable[[str], str]


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A trial, by id, or a study, by id or name.",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Explain why a trial was run; for a study, its latest trial and what comes next.

    Shows the expected gain of each study, the cost, the runners-up, and weights, limits or the
    starvation guard, if they changed the outcome. [bold]bentham trial list[/] shows the ids of
    trials.

    For example:

    [bold]bentham explain wine[/]

    [bold]bentham explain t_0123456789abcdef[/]
    """
    with connect(server, token_file) as client:
        decision = _decision(client, name)
        if decision is None:
            _explain_study(client, find_study(client, name, "study or trial"), as_json)
        elif as_json:
            print_json(decision)
        else:
            show(*page(decision, _names(client)))


def _decision(client: "Client", text: str) -> "DecisionView | None":
    """Return the decision with this id; None if the text may be the name of a study."""
    if not TRIAL_ID.fullmatch(text):
        return None
    try:
        return client.decision(text)
    except NotFound:
        return None


def _explain_study(client: "Client", study: "StudyView", as_json: bool) -> None:
    latest = next(client.decisions(study.id), None)
    following = client.next_model(study.id)
    if as_json:
        decision = "null" if latest is None else latest.model_dump_json()
        print(f'{{"latest": {decision}, "next": {following.model_dump_json()}}}')
        return
    running = f", {study.trials.running} running" if study.trials.running else ""
    tried = f"{study.tried} of {study.models} models tried{running}"
    show(Text(plain(f"Study {study.name} is {study.state}, {tried}.\n"), style="bold"))
    show(Text("Its latest decision\n", style="bold"))
    if latest is None:
        show("None yet: a decision is made when a device is free.")
    else:
        show(*(Padding(part, (0, 0, 0, 2)) for part in page(latest, _names(client))))
    show(Text("\nWhat comes next\n", style="bold"))
    show(*(Padding(part, (0, 0, 0, 2)) for part in _next(following)))


def _next(following: "Next") -> list[RenderableType]:
    if following.model is None:
        return [Text(plain(following.reason))]
    shown = following.rate if following.value is None else following.value
    return [
        Text(plain(f"Run {following.model}"), style="bold"),
        *([Text(plain(following.waits))] if following.waits else []),
        Text(plain(following.reason)),
        Text(f"{_rate_name(following)}: {_per_second(shown)}."),
    ]


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
        fields(_figures(decision)),
    ]
    if decision.gains:
        alone = ", if nothing else were running" if _counts_running(decision) else ""
        table = grid(
            ["~study", "?~tenant", figures("improvement"), figures("weight"), figures("weighted")],
            f"\nGain per study{alone}",
        )
        for gain in decision.gains:
            table.add_row(
                name_of(gain.study),
                gain.tenant,
                gain.expected_improvement / gain.weight if gain.weight else None,
                gain.weight,
                gain.expected_improvement,
            )
        parts.append(table)
    if decision.runners_up:
        table = grid(
            ["~model", "??~dataset", "~study", "?~tenant", figures("EI rate", rates)],
            "\nRunners-up",
        )
        if decision.value is not None:
            study = name_of(decision.study)
            names = ("(this one)", decision.dataset or "-", study, decision.tenant)
            table.add_row(*names, decision.value, style="dim")
        for other in decision.runners_up:
            names = (other.model, other.dataset or "-", name_of(other.study), other.tenant)
            table.add_row(*names, other.value)
        parts.append(table)
    parts += _changes(decision, name_of)
    return parts


def _figures(decision: "DecisionView") -> list[tuple[str, str]]:
    """Return the figures that the decision was ranked by and, once, those without running trials.

    A warm start is not ranked: its figures are those without running trials.
    """
    gain, ranked = decision.expected_improvement, decision.rate
    if decision.value is not None:
        gain, ranked = decision.value * decision.cost, decision.value
    rows = [
        ("expected improvement", f"{number(gain)}, weighted, over all studies that list it"),
        ("expected cost", f"{span(decision.cost)} of device time"),
        (_rate_name(decision), f"{rate(ranked)} per second"),
    ]
    if _counts_running(decision):
        rows.append(
            (
                "",
                "given what is running; if nothing else were, it would be "
                f"{rate(decision.rate)} per second",
            )
        )
    return rows


def _rate_name(found: "DecisionView | Next") -> str:
    """Return what its EI rate is called: alone, if it was not ranked by one."""
    return "EI rate" if found.value is not None else "EI rate alone"


def _per_second(shown: float | None) -> str:
    return f"{'-' if shown is None else short_number(shown)} per second"


def _counts_running(decision: "DecisionView") -> bool:
    """Whether running trials have changed what the decision was ranked by."""
    return decision.value is not None and rate(decision.value) != rate(decision.rate)


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
