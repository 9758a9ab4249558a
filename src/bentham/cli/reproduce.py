"""`bentham reproduce`: rerun the paper's evaluation and check its claims."""

import json
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from bentham.cli.options import HistorySeed, Jobs
from bentham.cli.progress import progress_bar
from bentham.errors import InvalidInput

if TYPE_CHECKING:
    from bentham.reproduce import Reproduction

SIGNS = {"holds": "green", "holds in part": "yellow", "does not hold": "red"}


def reproduce(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer runs: about 90 seconds on two cores, not 10 minutes."),
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for results and the report.")
    ] = Path("reproduction"),
    deeplearning: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file with the paper's DEEPLEARNING table (22 x 8; columns "
            "study,model,score,cost). It does not come with Bentham, since its licence is "
            "unknown; without it, claims that need it cannot be tested.",
            show_default=False,
        ),
    ] = None,
    seed: HistorySeed = 0,
    jobs: Jobs = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the claims as one JSON object.")
    ] = False,
) -> None:
    """Rerun the paper's experiments and report for each claim whether it holds.

    Writes report.html (a single file), claims.json, figures/ and results/ (one file per run).

    If interrupted, run the same command again to continue. For example:

    [bold]bentham reproduce --quick --out reproduction[/]
    """
    from bentham import reproduce as reproduction  # imports matplotlib, which is slow
    from bentham.reproduce.figures import draw_figures, panels
    from bentham.reproduce.page import page
    from bentham.reproduce.store import write_whole

    if out.exists() and not out.is_dir():
        raise InvalidInput(f"{out} is a file; name a directory")
    began = time.monotonic()
    with _resumable():
        with progress_bar(1) as bar:

            def expect(total: int, done: int) -> None:
                bar.expect(total)
                bar.advance(done)

            bar.describe("longest runs first")
            result = reproduction.reproduce(
                out,
                reproduction.QUICK if quick else reproduction.FULL,
                deeplearning,
                seed,
                jobs,
                expect=expect,
                progress=bar.step,
            )
        with progress_bar(len(panels(result.evidence))) as bar:
            figures = draw_figures(result.evidence, out / "figures", bar.step)
        command = ["bentham", "reproduce", *(["--quick"] if quick else []), "--seed", str(seed)]
        command += ["--deeplearning", deeplearning.name] if deeplearning is not None else []
        text = page(result.claims, figures, result.evidence, shlex.join(command))
        write_whole(out / "report.html", text)
    if deeplearning is not None:
        _warn_unless_deeplearning(deeplearning, result)
    if as_json:
        print(json.dumps(json.loads((out / "claims.json").read_text(encoding="utf-8"))))
    else:
        _print(result, out, time.monotonic() - began)


def _warn_unless_deeplearning(path: Path, result: "Reproduction") -> None:
    from bentham.reproduce.plan import DEEPLEARNING
    from bentham.reproduce.reproduction import looks_like_deeplearning

    if not looks_like_deeplearning(result.evidence.tables[DEEPLEARNING]):
        print(
            f"bentham: warning: {path} is not 22 studies x 8 models with scores from 0 to 1 like "
            "the paper's DEEPLEARNING; the results hold for this table only",
            file=sys.stderr,
        )


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("bentham: interrupted; run the same command again to continue", file=sys.stderr)
        raise


def _print(result: "Reproduction", out: Path, seconds: float) -> None:
    grid = Grid(show_lines=False)
    grid.add_column("claim of the paper", no_wrap=True)
    grid.add_column("verdict", no_wrap=True)
    for claim in result.claims:
        verdict = claim.verdict.value
        grid.add_row(claim.name, f"[{SIGNS.get(verdict, 'dim')}]{verdict}[/]")
    console = Console()
    console.print(grid)
    runs = f"{result.made:,} runs" + (f", {result.kept:,} reused" if result.kept else "")
    console.print(f"{runs}, {seconds:,.0f} s", highlight=False)
    if result.replaced:
        console.print(
            f"{result.replaced} result files were from different code or tables and were "
            "recomputed",
            highlight=False,
        )
    if not result.evidence.has_deeplearning:
        console.print(
            "DEEPLEARNING was not available: supply it with --deeplearning FILE", highlight=False
        )
    print(f"Report: {out / 'report.html'}")
