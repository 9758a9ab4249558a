"""`bentham status`: what runs now, for whom, and why nothing else does; once or live."""

import json
import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.formatting import is_own_value, moment, number, plain, show, span
from bentham.errors import Unavailable
from bentham.terminal import ACCENT, FAINT, FULL, line, trial_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentham.client import Client
    from bentham.wire import Overview, StatusView, StudyStatus, TenantOverview, TimelineTrial

WIDTH = 80
MOST_ASKED = 200  # the maximum of the server
ROWS_ONCE = 60  # when it is printed once, it may be longer than a terminal
# All but the rows of trials, and of tenants or studies; for a tenant with room for reasons.
POOL_ROWS, TENANT_ROWS = 9, 13
LEAST_ROWS = 6
NAMES, LONGEST_NAME, REASONS = 4, 24, 3
DEVICE, BAR = 12, 10
TENANTS = (18, 5, 9, 12, 6, 25)
STUDIES = (15, 17, 7, 8, 9, 6, 12)
ALARM = "bold red"


def status(
    once: Annotated[bool, typer.Option("--once", help="Print once and exit.")] = False,
    every: Annotated[
        float,
        typer.Option(
            min=0.2,
            max=3600.0,
            metavar="S",
            help="Seconds between updates of the live view (without --once).",
        ),
    ] = 2.0,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show what runs now, for whom, and what waits and why; on a terminal, live until Ctrl-C.

    An operator sees devices and tenants, a tenant sees its studies. For example:

    [bold]bentham status --once[/]
    """
    with connect(server, token_file) as client:
        if as_json:
            parts = client.overview(), client.status()
            print(json.dumps({k: v for part in parts for k, v in part.model_dump().items()}))
        elif once or not sys.stdout.isatty():
            show(render(client, ROWS_ONCE))
        else:
            watch(client, every)


def watch(client: "Client", every: float) -> None:
    """Update until interrupted; if the server is unreachable, show the error and keep trying."""
    console = Console(highlight=False)
    last = render(client, console.height)
    view: RenderableType = last
    with Live(view, console=console, auto_refresh=False) as live:
        try:
            while True:
                live.update(view, refresh=True)
                time.sleep(every)
                try:
                    last = view = render(client, console.height)
                except Unavailable as error:
                    view = Group(Text(plain(str(error)), style=ALARM), last)
                live.update(view, refresh=True)
        except KeyboardInterrupt:
            pass


def render(client: "Client", rows: int) -> Group:
    """Query the pool, or a tenant's part of it, and return its current state in so many rows."""
    overview, found = client.overview(), client.status(limit=min(rows, MOST_ASKED))
    of_caller = _of_tenant if overview.devices is None else _of_pool
    return Group(*of_caller(client.server, overview, found, rows))


def _split(room: int, trials: int, others: int) -> tuple[int, int]:
    """Return how many trials and how many others to show in so many rows."""
    if trials + others <= room:
        return trials, others
    room = max(LEAST_ROWS, room - 2)  # two rows say how many more there are
    others = min(others, max(room // 2, room - trials))
    return room - others, others


# -- an operator's view


def _of_pool(
    server: str, overview: "Overview", found: "StatusView", rows: int
) -> list[RenderableType]:
    devices, ended, tenants = overview.devices, overview.throughput, overview.tenants
    assert devices is not None
    room = rows - POOL_ROWS - bool(found.idle) - bool(found.away)
    trials, most = _split(room, found.running_count, len(tenants))
    work = _work(overview.queue.untried_arms, overview.queue.open_studies)
    waiting = Text.assemble(work, (": no device is alive", ALARM)) if overview.no_device else work
    parts: list[RenderableType] = [
        _head("Bentham", server, overview.time),
        _field("devices", f"{devices.present:,} present, {devices.busy:,} busy, "
               f"{devices.away:,} away"),
        _field("waiting", waiting),
        _field("trials", f"{ended.last_ten_minutes:,} ended in ten minutes, "
               f"{ended.last_hour:,} in an hour; {overview.leases_lost:,} lost so far"),
        _field("regret", f"{number(overview.regret_estimate)} (estimated mean over open studies)"),
        Rule(style=FAINT),
        *_running(found, trials, tenants=True),
    ]  # fmt: skip
    if found.idle:
        parts.append(_field("idle", _names(found.idle, devices.present - devices.busy)))
    if found.away:
        away = _names([each.name for each in found.away], devices.away)
        first = "the first " if devices.away > 1 else ""
        since = f"; {first}since {moment(found.away[0].since)}"
        parts.append(_field("away", Text(away + since, "yellow")))
    names = ("tenant", " open", "  running", " device time", " share", "waits for")
    parts += [
        Rule(style=FAINT),
        line(*zip((Text(name, ACCENT) for name in names), TENANTS, strict=True)),
        *(_tenant(tenant, overview.no_device) for tenant in tenants[:most]),
    ]
    if len(tenants) > most:
        parts.append(Text(f"... and {len(tenants) - most:,} more: bentham tenant list", FAINT))
    return parts


def _tenant(tenant: "TenantOverview", no_device: bool) -> Text:
    limit = tenant.limits.running_trials
    cells: tuple[Text | str, ...] = (
        _plain(tenant.tenant),
        _right(f"{tenant.open_studies:,}"),
        _right(f"{tenant.running_trials}{'' if limit is None else f' of {limit}'}"),
        _right(span(tenant.device_seconds)),
        _right("-" if tenant.share is None else f"{tenant.share:.0%}"),
        _waits_for(tenant, no_device),
    )
    return line(*zip(cells, TENANTS, strict=True))


def _waits_for(tenant: "TenantOverview", no_device: bool) -> Text | str:
    if tenant.untried_arms == 0:
        return "-"
    if tenant.reached == "running-trials":
        return "a trial to end (limit)"
    if tenant.reached == "device-time":
        return "midnight UTC (limit)"
    if no_device:
        return Text("a device: none is alive", ALARM)
    return "a free device"


# -- a tenant's view


def _of_tenant(
    server: str, overview: "Overview", found: "StatusView", rows: int
) -> list[RenderableType]:
    (own,) = overview.tenants
    limits = own.limits
    trials, most = _split(rows - TENANT_ROWS, found.running_count, len(found.studies))
    shown = found.studies[:most]
    runs = _of(f"{own.running_trials:,}", limits.running_trials)
    today = _of(span(own.device_seconds_today), _span(limits.device_seconds_per_day))
    names = ("study", "metric", "  score", "baseline", "last hour", " tried", "model")
    parts: list[RenderableType] = [
        _head(_plain(own.tenant), server, overview.time),
        _field("waiting", _work(overview.queue.untried_arms, overview.queue.open_studies)),
        _field("running", f"{runs} trials; device time today: {today}"),
        Rule(style=FAINT),
        line(*zip((Text(name, ACCENT) for name in names), STUDIES, strict=True)),
        *(_study(study) for study in shown),
    ]
    if found.study_count > most:
        parts.append(Text(f"... and {found.study_count - most:,} more: bentham study list", FAINT))
    parts += [Rule(style=FAINT), *_running(found, trials, tenants=False)]
    reasons: dict[str, list[str]] = {}
    for study in shown:
        if study.reason:
            reasons.setdefault(study.reason, []).append(study.name)
    for reason, studies in islice(reasons.items(), REASONS):
        named = Text(f"{_names(studies, len(studies))}: ", ACCENT)
        parts.append(named.append(_plain(reason), "not bold"))
    return parts


def _study(study: "StudyStatus") -> Text:
    gained = f"+{number(study.gained)}" if study.gained > 0.0 else "-"
    cells: tuple[Text | str, ...] = (
        _plain(study.name),
        _plain(_metric(study)),
        Text(number(study.best), ACCENT, justify="right"),
        _right(number(study.floor)),
        Text(gained, FULL if study.gained > 0.0 else FAINT, justify="right"),
        _right(f"{study.tried}/{study.models}"),
        _plain(study.model),
    )
    return line(*zip(cells, STUDIES, strict=True))


def _metric(study: "StudyStatus") -> str:
    """Return the metric, with its value if the score is computed from it."""
    value, score = study.measured, study.best
    if value is None or score is None or is_own_value(value, score):
        return study.metric
    return f"{number(value)} {study.metric}"


# -- both


def _head(title: str, server: str, now: float) -> Text:
    where = Text(f"{server}, {moment(now)}", FAINT, justify="right")
    return line((Text(title, "bold magenta"), 25), (where, WIDTH - 26))


def _field(name: str, value: Text | str) -> Text:
    return line((Text(name, FAINT), DEVICE), (value, WIDTH - DEVICE - 1))


def _running(found: "StatusView", most: int, tenants: bool) -> "Sequence[Text]":
    lines = [_trial(trial, found.time, tenants) for trial in found.running[:most]]
    if found.running_count > len(lines):
        more = found.running_count - len(lines)
        lines.append(Text(f"... and {more:,} more: bentham trial list --state running", FAINT))
    return lines or [Text("nothing runs", FAINT)]


def _trial(trial: "TimelineTrial", now: float, tenants: bool) -> Text:
    taken = max(0.0, now - trial.started)
    times = f"{_short(taken)} of about {_short(trial.cost)}"
    share = taken / trial.cost if trial.cost else 1.0
    study = f"{trial.tenant}/{trial.name}" if tenants else trial.name
    widths = (DEVICE, BAR, WIDTH - DEVICE - BAR - 2)
    return trial_line(
        _plain(trial.device), share, times, _plain(study), _plain(trial.model), widths
    )


def _work(models: int, studies: int) -> str:
    models_left = "1 model" if models == 1 else f"{models:,} models"
    return f"{models_left} of {'1 open study' if studies == 1 else f'{studies:,} open studies'}"


def _names(names: "Sequence[str]", count: int) -> str:
    """Return the first of some names, and how many more there are."""
    shown = ", ".join(_short_name(name) for name in names[:NAMES])
    return f"{shown} and {count - NAMES:,} more" if count > NAMES else shown


def _of(value: str, limit: object) -> str:
    return value if limit is None else f"{value} of {limit}"


def _short(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120.0 else span(seconds)


def _span(seconds: float | None) -> str | None:
    return None if seconds is None else span(seconds)


def _short_name(name: str) -> str:
    text = _plain(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _plain(text: str) -> str:
    return plain(text).replace("\n", " ")


def _right(text: str) -> Text:
    return Text(text, justify="right")
