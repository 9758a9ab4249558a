"""`bentham simulate`: serve a table's studies in virtual time and report the regret."""

import json
import math
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bentham.cli.files import check_writable
from bentham.cli.progress import progress_bar
from bentham.cli.report import print_comparison
from bentham.core import DEFAULT_JITTER
from bentham.core.problem.stop_rules import DEFAULT_GAIN_SHARE
from bentham.errors import InvalidInput
from bentham.sim import POLICY_NAMES, Disturbances, write_recording
from bentham.sim.experiment import DEFAULT_HOLDOUT, Experiment, Outcome, run_experiment
from bentham.tables import load_table, read_features

SCHEDULER, PRIOR, RUNS, OUTPUT = "Scheduler", "Prior", "Runs", "Output"
PAPER = "paper"
PolicyName = StrEnum("PolicyName", {name: name for name in POLICY_NAMES})  # type: ignore[misc]


def simulate(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            show_default=False,
            help="A CSV file with the columns study,model,score,cost (a missing row means that "
            "the study does not list that model), or a bundled table: [bold]synthetic[/] (50 "
            "studies x 50 models; synthetic:SEED for another random seed), [bold]oboe[/] "
            "(418 x 219, measured; oboe:8 for 8 of its models), [bold]azure-standin[/] (17 x "
            "8, part of oboe).",
        ),
    ],
    policy: Annotated[
        list[PolicyName] | None,
        typer.Option(
            metavar="NAME",
            help=f"Scheduling policy: {', '.join(POLICY_NAMES)}. Repeat the option to compare "
            "several. [dim]\\[default: joint with a learned prior, else mdmt][/]",
            show_default=False,
            rich_help_panel=SCHEDULER,
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="Also run the paper's configuration: policy mdmt, prior sample, warm start "
            "fastest:2.",
            rich_help_panel=SCHEDULER,
        ),
    ] = False,
    devices: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Number of devices.", rich_help_panel=SCHEDULER),
    ] = 4,
    warm_start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Models that every study runs first: fastest:k, mean (highest prior mean) or "
            "none. [dim]\\[default: none with a learned prior, else fastest:2][/]",
            show_default=False,
            rich_help_panel=SCHEDULER,
        ),
    ] = None,
    costs: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="What the scheduler knows about costs: given (those of TABLE), learned (from "
            "completed trials and the history) or learned-from-nothing (from completed trials).",
            rich_help_panel=SCHEDULER,
        ),
    ] = "given",
    cost_exponent: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="X",
            help="Exponent x in expected improvement / cost^x, the value that ranks models: 1 as "
            "in the paper; 0 ignores costs.",
            rich_help_panel=SCHEDULER,
        ),
    ] = 1.0,
    floor: Annotated[
        float,
        typer.Option(
            metavar="SCORE",
            help="Baseline score: a study's best score before its first result.",
            rich_help_panel=SCHEDULER,
        ),
    ] = 0.0,
    gain_share: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="S",
            help="End a study when all its untried models together are expected to add less than "
            f"this share of what it has gained over the baseline; {DEFAULT_GAIN_SHARE:g} in the "
            "service. The paper's configuration runs every model.",
            rich_help_panel=SCHEDULER,
        ),
    ] = 0.0,
    prior: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Prior, that is what is expected of the scores before any trial: learned (updated "
            "while serving), sample (mean and covariance of the history, as in the paper), kernel "
            "or kernel:NAME (matern12, matern32, matern52, rbf; needs --features), or a .json "
            "file.",
            rich_help_panel=PRIOR,
        ),
    ] = "learned",
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PIECE",
            help="Disable a part of the learned prior: serving (learning from the studies being "
            "served), warp (transforming scores near a ceiling), scales (a scale for every study) "
            "or strengths (choosing the regularization from data); see docs/learning.md. Repeat "
            "the option for several. [dim]\\[default: none][/]",
            show_default=False,
            rich_help_panel=PRIOR,
        ),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Table of past studies for the prior. [dim]\\[default: studies of TABLE, see "
            "--holdout][/]",
            show_default=False,
            rich_help_panel=PRIOR,
        ),
    ] = None,
    holdout: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Without --history: number of studies of TABLE drawn as history; the scheduler "
            f"runs the others, as in the paper. [dim]\\[default: {DEFAULT_HOLDOUT}][/]",
            rich_help_panel=PRIOR,
        ),
    ] = None,
    jitter: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="X",
            help="For --prior sample and kernel: value added to the diagonal of the prior "
            "covariance, so that it can be inverted. "
            f"[dim]\\[default: {DEFAULT_JITTER:g}][/]",
            show_default=False,
            rich_help_panel=PRIOR,
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file with features of models: a column model, numeric columns and, if "
            "models belong to families, a column family; for the priors learned and kernel.",
            rich_help_panel=PRIOR,
        ),
    ] = None,
    length_scale: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="For --prior kernel: length scale of the features; models whose features differ "
            "by much more have nearly independent scores. [dim]\\[default: maximum likelihood][/]",
            show_default=False,
            rich_help_panel=PRIOR,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Random seed.", rich_help_panel=RUNS),
    ] = 0,
    repeat: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs per policy, with seeds SEED, SEED+1, ...",
            rich_help_panel=RUNS,
        ),
    ] = 1,
    until: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="T",
            help="Stop at this virtual time, in the table's unit of cost. [dim]\\[default: when "
            "every study has ended][/]",
            show_default=False,
            rich_help_panel=RUNS,
        ),
    ] = None,
    fail: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="P",
            help="Probability that a trial fails.",
            rich_help_panel=RUNS,
        ),
    ] = 0.0,
    lose: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="P",
            help="Probability that a trial is lost because its device dies.",
            rich_help_panel=RUNS,
        ),
    ] = 0.0,
    repair: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="T",
            help="Virtual time until a dead device is available again, in the table's unit of "
            "cost.",
            rich_help_panel=RUNS,
        ),
    ] = 0.0,
    cost_error: Annotated[
        float,
        typer.Option(
            min=1.0,
            metavar="X",
            help="Maximum factor by which expected costs are wrong, up or down; 1 for exact costs.",
            rich_help_panel=RUNS,
        ),
    ] = 1.0,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object, or a list of them for several runs.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Plot regret over time to this file (.png, .svg or .pdf).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the run's events to this file, for [bold]bentham replay[/].",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Simulate the scheduler on a table in virtual time, and report the regret.

    As in the paper, the prior is estimated from some studies; the scheduler runs the others. For
    example:

    [bold]bentham simulate oboe:8 --paper --policy joint --policy oracle --plot a.png[/]
    """
    if history is not None and holdout is not None:
        raise InvalidInput("--history and --holdout are mutually exclusive; use one of them")
    policies = [str(name) for name in dict.fromkeys(policy)] if policy else [None]
    if events is not None and (len(policies) * repeat > 1 or paper):
        raise InvalidInput("--events records one run; use one policy and --repeat 1")
    if features is not None and not prior.startswith(("kernel", "learned")):
        raise InvalidInput("--features needs --prior learned or kernel; add one of them")
    if length_scale is not None and not prior.startswith("kernel"):
        raise InvalidInput("--length-scale needs --prior kernel; add it")
    if prior == "learned" and jitter is not None:
        raise InvalidInput("the learned prior needs no jitter; remove --jitter")
    if without and prior != "learned":
        raise InvalidInput("--without needs --prior learned; add it")
    if prior.endswith(".json") and (history is not None or jitter is not None):
        raise InvalidInput(
            "a prior from a file uses no history and has its own jitter; remove --history and "
            "--jitter"
        )
    if repair and not lose:
        raise InvalidInput("--repair needs devices that die; add --lose")
    if events is not None:
        check_writable(events, inputs=[table, history, features, prior])
    if plot is not None:
        from bentham import plots  # matplotlib is slow to import: only for a plot

        plots.check_format(plot)
        check_writable(plot, inputs=[table, history, features, prior])
    served = load_table(table)
    experiment = Experiment(
        table=served,
        history=load_table(history) if history is not None else None,
        holdout=holdout,
        prior=prior,
        switched_off=tuple(dict.fromkeys(without or [])),
        costs=costs,
        cost_exponent=cost_exponent,
        jitter=DEFAULT_JITTER if jitter is None else jitter,
        features=None if features is None else read_features(features, served.models),
        length_scale=length_scale,
        devices=devices,
        warm_start=warm_start,
        floor=floor,
        gain_share=gain_share,
        until=math.inf if until is None else until,
        disturbances=Disturbances(fail, lose, repair, cost_error),
    )
    _warn_about_floor(experiment)
    runs = [(experiment, name) for name in policies]
    if paper:
        runs.append((experiment.as_in_the_paper(seed), PAPER))
    outcomes = _run_all(runs, [seed + number for number in range(repeat)])
    if as_json:
        summaries = [outcome.summary() for outcome in outcomes]
        print(json.dumps(summaries[0] if len(summaries) == 1 else summaries, allow_nan=False))
    else:
        print_comparison(outcomes)
    if events is not None:
        write_recording(events, outcomes[0].recording())
    if plot is not None:
        plots.draw_regret(outcomes, plot)
        if not as_json:
            print(f"Regret over time: {plot}")


def _run_all(runs: list[tuple[Experiment, str | None]], seeds: list[int]) -> list[Outcome]:
    _, served = runs[0][0].split(seeds[0])
    arms = int(np.isfinite(served.scores).sum())
    outcomes = []
    with progress_bar(arms * len(runs) * len(seeds)) as bar:
        for experiment, name in runs:
            for seed in seeds:
                bar.describe(f"{name or experiment.prior}, seed {seed}")
                policy = "mdmt" if name == PAPER else name
                outcome = run_experiment(experiment, policy, seed, lambda _: bar.advance())
                outcomes.append(replace(outcome, policy=name or outcome.policy))
    return outcomes


def _warn_about_floor(experiment: Experiment) -> None:
    lowest = float(np.nanmin(experiment.table.scores))
    if lowest < experiment.floor:
        print(
            f"bentham: warning: scores go down to {lowest:g}, below the baseline score "
            f"{experiment.floor:g}; consider --floor {lowest:g}",
            file=sys.stderr,
        )
