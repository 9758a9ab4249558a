"""`bentham demo`: run a complete service with training, in a minute or two."""

from pathlib import Path
from typing import Annotated

import typer

from bentham.cli.files import check_writable

CANDIDATES = 16  # about one minute of training on two cores


def demo(
    exit_when_done: Annotated[
        bool,
        typer.Option(
            "--exit-when-done",
            help="Exit after the comparison instead of keeping the server running.",
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**32 - 1,
            metavar="N",
            help="Random seed for the held-out rows; the same seed gives the same scores.",
        ),
    ] = 0,
    devices: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            metavar="N",
            help="Number of trials that run at the same time, each on one core.",
        ),
    ] = 2,
    candidates: Annotated[
        int,
        typer.Option(min=1, max=100, metavar="N", help="Number of models per study."),
    ] = CANDIDATES,
    studies: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Run only the N fastest studies. [dim]\\[default: all 14][/]",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory for all files; must be empty. [dim]\\[default: a temporary directory, "
            "deleted at the end][/]",
            show_default=False,
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Also write results, all scores and the comparison to this JSON file.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start a service, train models for five tenants, and compare with round robin.

    Runs a real server and a real worker on this machine, without network access: 14 studies on
    datasets that come with scikit-learn. Shows live progress, each study's best model, and how much
    earlier or later round-robin scheduling would have reached the same happiness (the share of the
    initial regret that is gone). For example:

    [bold]bentham demo --exit-when-done[/]
    """
    # Imported here, so that other commands start faster.
    from bentham.demo import Demo, run_demo

    if json_file is not None:
        check_writable(json_file, [])
    run_demo(Demo(seed, devices, candidates, studies, folder, json_file, stay=not exit_when_done))
