"""`bentham bench`: how fast Bentham itself is."""

import json
from typing import Annotated

import typer

from bentham.bench import OBSERVATIONS_PER_STUDY, bench_decisions
from bentham.cli.progress import progress_bar

bench_app = typer.Typer(help="Measure Bentham itself.", no_args_is_help=True)


@bench_app.callback()
def _group() -> None:
    """Keep `decisions` a command of its own while it is the only one."""


@bench_app.command()
def decisions(
    studies: Annotated[int, typer.Option(min=1, metavar="N", help="How many studies.")] = 1000,
    models: Annotated[int, typer.Option(min=1, metavar="N", help="How many models each.")] = 100,
    observations: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"How many tell+ask pairs.[dim] \\[default: {OBSERVATIONS_PER_STUDY} a study][/]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Draws scores and costs.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time tell+ask pairs of the policy mdmt on one core: p50, p99 and peak memory."""
    total = min(observations or OBSERVATIONS_PER_STUDY * studies, studies * models)
    with progress_bar(total) as bar:
        bar.describe(f"{studies:,} x {models:,}")
        result = bench_decisions(studies, models, observations, seed, bar.advance)
    if as_json:
        print(json.dumps(result))
        return
    print(
        f"{studies:,} studies x {models:,} models, {result['observations']:,} tell+ask pairs: "
        f"p50 {result['p50_us']:,} us, p99 {result['p99_us']:,} us,\n"
        f"max {result['max_us']:,} us, peak memory {result['peak_memory_mib']:,} MiB "
        f"(prepared in {result['prepare_seconds']:,} s)"
    )
