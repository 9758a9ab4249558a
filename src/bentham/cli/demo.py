"""`bentham demo`: the whole thing at work, in a minute or two."""

from pathlib import Path
from typing import Annotated

import typer

from bentham.cli.files import check_writable

CANDIDATES = 16  # with two cores a good minute of training


def demo(
    exit_when_done: Annotated[
        bool,
        typer.Option("--exit-when-done", help="End with the comparison, rather than stay up."),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**32 - 1,
            metavar="N",
            help="Draws which rows are held out: the same seed gives the same scores.",
        ),
    ] = 0,
    devices: Annotated[
        int,
        typer.Option(
            min=1, max=64, metavar="N", help="How many trials run at a time, each on one core."
        ),
    ] = 2,
    candidates: Annotated[
        int,
        typer.Option(min=1, max=100, metavar="N", help="How many models each study tries."),
    ] = CANDIDATES,
    studies: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Only so many studies, the quickest ones. [dim]\\[default: all 14][/]",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep everything in this folder, which is empty. [dim]\\[default: a temporary "
            "one, gone in the end][/]",
            show_default=False,
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write results, all scores and the comparison to a file, too.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start a service, train for five tenants, and see what round robin would have done.

    A real server and a real worker, on this machine and without the network: 14 studies on data
    that comes with scikit-learn. Shown are the run as it goes, each study's best model, and how
    much later round robin would have brought the same happiness. For example:

    [bold]bentham demo --exit-when-done[/]
    """
    # Here, so that other commands start without it.
    from bentham.demo import Demo, run_demo

    if json_file is not None:
        check_writable(json_file, [])
    run_demo(Demo(seed, devices, candidates, studies, folder, json_file, stay=not exit_when_done))
