"""`bentham bench`: measure speed and regret."""

import json
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from bentham.bench import OBSERVATIONS_PER_STUDY, bench_decisions
from bentham.cli.options import HistorySeed, Jobs
from bentham.cli.progress import progress_bar
from bentham.cli.report import print_regret
from bentham.errors import InvalidInput
from bentham.experiments import DEFAULT_TABLES, DEFAULT_VARIANTS, VARIANTS, bench_regret

LARGEST_POOL = 100_000
EmptyDatabase = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="BENTHAM_DATABASE",
        help="URL of an empty PostgreSQL database to use instead of SQLite.",
        show_default=False,
        show_envvar=False,
    ),
]
bench_app = typer.Typer(
    help="Benchmarks: speed of the scheduler and the service, and regret of policies.",
    no_args_is_help=True,
)


@bench_app.command()
def decisions(
    studies: Annotated[int, typer.Option(min=1, metavar="N", help="Number of studies.")] = 1000,
    models: Annotated[int, typer.Option(min=1, metavar="N", help="Models per study.")] = 100,
    observations: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Number of tell+ask pairs.[dim] \\[default: {OBSERVATIONS_PER_STUDY} per "
            "study][/]",
            show_default=False,
        ),
    ] = None,
    learned: Annotated[
        bool,
        typer.Option("--learned", help="Learn the prior while serving, starting without history."),
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Random seed for scores and costs.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time the scheduler's decisions (tell+ask pairs) on one core: p50, p99 and peak memory.

    Uses the policy mdmt with a fixed prior, as in the paper. --learned uses the default policy and
    prior instead.
    """
    total = min(observations or OBSERVATIONS_PER_STUDY * studies, studies * models)
    with progress_bar(total) as bar:
        bar.describe(f"{studies:,} x {models:,}")
        result = bench_decisions(studies, models, observations, seed, bar.advance, learned)
    if as_json:
        print(json.dumps(result))
        return
    print(
        f"{studies:,} studies x {models:,} models, {result['observations']:,} tell+ask pairs: "
        f"p50 {result['p50_us']:,} us, p99 {result['p99_us']:,} us,\n"
        f"max {result['max_us']:,} us, peak memory {result['peak_memory_mib']:,} MiB "
        f"(prepared in {result['prepare_seconds']:,} s)"
    )


@bench_app.command()
def regret(
    tables: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Bundled tables or CSV files; separate several by commas or repeat the option. "
            f"[dim]\\[default: {','.join(DEFAULT_TABLES)}][/]",
            show_default=False,
        ),
    ] = None,
    devices: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of devices, separated by commas.")
    ] = "1,8",
    repeat: Annotated[
        int, typer.Option(min=1, metavar="R", help="Runs per variant, with seeds SEED, SEED+1, ...")
    ] = 5,
    variants: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Variants to compare: {', '.join(VARIANTS)}; or all. "
            "docs/benchmarks.md#all-variants explains each. [dim]\\[default: "
            f"{','.join(DEFAULT_VARIANTS)}][/]",
            show_default=False,
        ),
    ] = None,
    seed: HistorySeed = 0,
    jobs: Jobs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare the regret of policies and priors under the paper's protocol.

    Prints regret as a ratio to the paper's configuration and to an oracle, which knows every score.

    In every run, up to 8 studies serve as history for the prior; all variants serve the same
    remaining studies. For example:

    [bold]bentham bench regret --tables oboe:8 --devices 1,8 --repeat 10[/]
    """
    names = _listed("--tables", tables, DEFAULT_TABLES)
    compared = _listed("--variants", variants, DEFAULT_VARIANTS)
    compared = list(VARIANTS) if compared == ["all"] else compared
    counts = _counts(devices)
    began = time.monotonic()
    with progress_bar(1) as bar:
        result = bench_regret(
            names, counts, repeat, compared, seed, jobs, expect=bar.expect, progress=bar.step
        )
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        print_regret(result, time.monotonic() - began)


@bench_app.command()
def service(
    studies: Annotated[int, typer.Option(min=1, metavar="N", help="Number of studies.")] = 1000,
    models: Annotated[int, typer.Option(min=1, metavar="N", help="Models per study.")] = 50,
    seconds: Annotated[
        float, typer.Option(min=1.0, metavar="S", help="Seconds to measure each system.")
    ] = 20.0,
    warm_up: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Number of warm-up cycles, which are not measured."),
    ] = 2000,
    database: EmptyDatabase = None,
    fixed: Annotated[
        bool,
        typer.Option(
            "--fixed-prior", help="Use the policy mdmt with a fixed prior, as in the paper."
        ),
    ] = False,
    rival: Annotated[
        bool, typer.Option("--optuna/--no-optuna", help="Also measure Optuna's ask and tell.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure lease-and-report cycles per second, each durably committed.

    Starts its own server, and eight local workers that report immediately. For example:

    [bold]bentham bench service --studies 1000 --models 50[/]
    """
    from bentham.bench.service import bench_service

    with progress_bar(1) as bar:
        result = bench_service(
            studies, models, seconds, warm_up, database, fixed, rival, bar.describe
        )
    if as_json:
        print(json.dumps(result))
        return
    print(
        f"{studies:,} studies x {models:,} models on {result['database']}, {result['workers']} "
        f"workers: {result['cycles_per_second']:,} cycles per second\nlease p50 "
        f"{result['lease_p50_ms']} ms, p99 {result['lease_p99_ms']} ms; report p50 "
        f"{result['report_p50_ms']} ms, p99 {result['report_p99_ms']} ms"
    )
    if result["optuna"]:
        print(
            f"Optuna {result['optuna']['version']} ask+tell: {result['optuna']['best']:,} per "
            f"second; Bentham does {result['ratio_to_optuna']} times as many"
        )


@bench_app.command()
def intake(
    tenants: Annotated[int, typer.Option(min=1, metavar="N", help="Number of tenants.")] = 20,
    studies: Annotated[int, typer.Option(min=1, metavar="N", help="Number of studies.")] = 200,
    candidates: Annotated[
        int, typer.Option(min=1, max=500, metavar="N", help="Models per study.")
    ] = 40,
    devices: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Number of devices that train during the benchmark."),
    ] = 2,
    seconds: Annotated[
        float,
        typer.Option(min=1.0, metavar="S", help="Seconds during which tenants read their studies."),
    ] = 60.0,
    database: EmptyDatabase = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Submit many studies with datasets at once while devices train; time every request.

    Starts its own server and worker. For example:

    [bold]bentham bench intake --studies 200 --candidates 40[/]
    """
    from bentham.bench.intake import bench_intake

    with progress_bar(1) as bar:
        result = bench_intake(
            tenants, studies, candidates, devices, seconds, database, bar.describe
        )
    if as_json:
        print(json.dumps(result))
        return
    create, read = result["create"], result["look"]
    print(
        f"{studies:,} studies x {candidates:,} candidates of {tenants:,} tenants, submitted in "
        f"{result['submitted_seconds']:,} s while {devices} devices train\ncreate p50 "
        f"{create['p50_ms']} ms, p99 {create['p99_ms']} ms; read p50 {read['p50_ms']} ms, p99 "
        f"{read['p99_ms']} ms; all p99 {result['all_p99_ms']} ms\nserver memory: "
        f"{result['memory_submitted_mib']:,} MiB at the start, {result['memory_middle_mib']:,} "
        f"halfway, {result['memory_end_mib']:,} at the end"
    )


@bench_app.command()
def recovery(
    events: Annotated[
        int, typer.Option(min=1000, metavar="N", help="Number of events in the log.")
    ] = 100_000,
    database: EmptyDatabase = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time a restart of the service: from the full log, and from a snapshot.

    Also checks that both give the same state; exit code 1 if not.
    """
    from bentham.bench.recovery import bench_recovery

    with progress_bar(1) as bar:
        result = bench_recovery(events, database, bar.describe)
    if as_json:
        print(json.dumps(result))
        return
    print(
        f"{result['events']:,} events, {result['trials']:,} trials: full log "
        f"{result['replay_seconds']:,} s ({result['replay_us_per_event']:,} us per event), "
        f"snapshot of {result['snapshot_mib']:,} MiB plus the last {result['tail_events']:,} "
        f"events {result['snapshot_start_seconds']:,} s, first decision "
        f"{result['first_decision_seconds']:,} s; states "
        f"{'equal' if result['equal'] else 'NOT EQUAL'}"
    )
    raise typer.Exit(0 if result["equal"] else 1)


def _listed(option: str, values: list[str] | None, default: Sequence[str]) -> list[str]:
    if values is None:
        return list(default)
    names = [name for value in values for name in value.split(",") if name]
    if not names:
        raise InvalidInput(f"{option} is empty; give at least one value, for example {default[0]}")
    return names


def _counts(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() and 0 < int(part) <= LARGEST_POOL for part in parts):
        raise InvalidInput(
            f"--devices is {text!r}; give numbers from 1 to {LARGEST_POOL} separated by commas, "
            "for example 1,8"
        )
    return [int(part) for part in parts]
