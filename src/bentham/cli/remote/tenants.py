"""`bentham tenant ...`: create, list, show and change tenants."""

from typing import TYPE_CHECKING, Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.formatting import (
    fields,
    figures,
    grid,
    moment,
    number,
    print_json,
    show,
    span,
    spans,
)
from bentham.errors import InvalidInput

if TYPE_CHECKING:
    from bentham.wire import Limits, TenantView

tenant_app = typer.Typer(help="Tenants, which share the devices.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the tenant.", show_default=False)
]
RunningTrials = Annotated[
    str | None,
    typer.Option(
        metavar="N", help="Maximum number of running trials; none for no limit.", show_default=False
    ),
]
DeviceSeconds = Annotated[
    str | None,
    typer.Option(
        metavar="SECONDS", help="Maximum device time per day, in seconds; none for no limit.",
        show_default=False,
    ),
]  # fmt: skip


@tenant_app.command("create")
def create(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name of the tenant: letters, digits, '.', '_' and '-'.",
            show_default=False,
        ),
    ],
    weight: Annotated[
        float,
        typer.Option(
            metavar="W",
            help="Weight of its gains relative to other tenants: 0.000001 to 1,000,000.",
        ),
    ] = 1.0,
    running_trials: RunningTrials = None,
    device_seconds_per_day: DeviceSeconds = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Create a tenant.

    For example:

    [bold]bentham tenant create vision --weight 2 --running-trials 4[/]
    """
    from bentham.wire import Limits

    limits = _limits(Limits(), running_trials, device_seconds_per_day)
    with connect(server, token_file) as client:
        tenant = client.create_tenant(name, weight, limits)
    _print(tenant, as_json)


@tenant_app.command("list")
def list_tenants(
    as_json: AsJson = False, server: Server = DEFAULT_SERVER, token_file: TokenFile = None
) -> None:
    """List all tenants.

    For example:

    [bold]bentham tenant list[/]
    """
    with connect(server, token_file) as client:
        tenants = client.tenants()
    if as_json:
        print_json(tenants)
        return
    table = grid(
        ["~tenant", figures("weight"), ">open", "?>studies", ">running", "??>today",
         figures("device time", spans)]
    )  # fmt: skip
    for tenant in tenants:
        table.add_row(
            tenant.name,
            tenant.weight,
            str(tenant.open_studies),
            str(tenant.studies),
            _of(str(tenant.running_trials), tenant.limits.running_trials),
            _of(
                span(tenant.device_seconds_today),
                tenant.limits.device_seconds_per_day and span(tenant.limits.device_seconds_per_day),
            ),
            tenant.device_seconds,
        )
    show(table if tenants else "No tenants yet; create one: bentham tenant create NAME")


@tenant_app.command("show")
def show_tenant(
    name: Name,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show one tenant.

    For example:

    [bold]bentham tenant show vision[/]
    """
    with connect(server, token_file) as client:
        _print(client.tenant(name), as_json)


@tenant_app.command("change")
def change(
    name: Name,
    weight: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            help="Weight of its gains relative to other tenants: 0.000001 to 1,000,000.",
            show_default=False,
        ),
    ] = None,
    running_trials: RunningTrials = None,
    device_seconds_per_day: DeviceSeconds = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Change a tenant; omitted options keep their current value.

    For example:

    [bold]bentham tenant change vision --weight 3 --running-trials none[/]
    """
    if weight is None and running_trials is None and device_seconds_per_day is None:
        raise InvalidInput("nothing to change; give a new weight or limit, for example --weight 3")
    with connect(server, token_file) as client:
        limits = None
        if running_trials is not None or device_seconds_per_day is not None:
            before = client.tenant(name).limits
            limits = _limits(before, running_trials, device_seconds_per_day)
        _print(client.change_tenant(name, weight=weight, limits=limits), as_json)


def _limits(before: "Limits", running_trials: str | None, device_seconds: str | None) -> "Limits":
    from bentham.client.connection import request_body
    from bentham.wire import Limits

    def parsed(option: str, text: str | None, old: object, kind: type[int] | type[float]) -> object:
        if text is None or text == "none":
            return old if text is None else None
        try:
            return kind(text)
        except ValueError:
            raise InvalidInput(f"{option} is {text!r}; give a number, or none") from None

    seconds = before.device_seconds_per_day
    return request_body(
        Limits,
        running_trials=parsed("--running-trials", running_trials, before.running_trials, int),
        device_seconds_per_day=parsed("--device-seconds-per-day", device_seconds, seconds, float),
    )


def _of(value: str, limit: object) -> str:
    return value if limit is None else f"{value} of {limit}"


def _print(tenant: "TenantView", as_json: bool) -> None:
    if as_json:
        print_json(tenant)
        return
    limits = tenant.limits
    per_day = limits.device_seconds_per_day
    show(
        fields(
            [
                ("tenant", tenant.name),
                ("weight", number(tenant.weight)),
                ("created", moment(tenant.created)),
                ("studies", f"{tenant.studies}, {tenant.open_studies} open"),
                ("running trials", _of(str(tenant.running_trials), limits.running_trials)),
                (
                    "device time today",
                    _of(
                        span(tenant.device_seconds_today),
                        None if per_day is None else span(per_day),
                    ),
                ),
                ("device time in total", span(tenant.device_seconds)),
            ]
        )
    )
