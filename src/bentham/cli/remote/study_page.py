"""A study and its candidates, rendered for the terminal."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from bentham.cli.remote.best_model import best_page
from bentham.cli.remote.formatting import (
    age,
    fields,
    figures,
    grid,
    is_own_value,
    moment,
    number,
    rates,
    span,
    spans,
)
from bentham.wording import counted

if TYPE_CHECKING:
    from bentham.wire import BestModel, Candidate, StudyView

MOST_CANDIDATES = 100
ORDER = {"observed": 0, "running": 1, "untried": 2, "failed": 3}


def study_page(
    study: "StudyView",
    candidates: "Sequence[Candidate] | None",
    waits: str = "",
    best_model: "BestModel | None" = None,
) -> list[RenderableType]:
    """Render a study; with `candidates`, also a table of its scored, running and untried models.

    `waits` says why no more of it runs. With `best_model`, also a look at the best of them.
    """
    best, trials = study.incumbent, study.trials
    rows = [
        ("study", f"{study.name} ({study.id})"),
        ("tenant", study.tenant),
        ("state", f"{study.state}{f': {study.reason}' if study.reason else ''}"),
        *([("waits", waits)] if waits else []),
        ("dataset", f"{study.data or study.dataset or '-'}{_size(study)}"),
        *_training(study),
        (
            "best so far",
            "-" if best is None else f"{number(best.score)}{_own(study)} by {best.model}",
        ),
        *_against_baseline(study),
        *_configuration(study),
        (
            "metric",
            f"{study.metric}, baseline {number(study.floor)}, weight {number(study.weight)}",
        ),
        (
            "models",
            f"{study.models}, {study.tried} tried, {study.untried} untried",
        ),
        (
            "trials",
            f"{trials.running} running, {trials.complete} complete, {trials.failed} failed, "
            f"{trials.lost} lost",
        ),
        ("device time", span(study.device_seconds)),
        ("created", f"{moment(study.created)} ({age(study.created)})"),
        ("stops", stops(study)),
    ]
    page: list[RenderableType] = [fields(rows)]
    if best_model is not None:
        page += best_page(best_model)
    if candidates is None:
        return page
    table = grid(
        ["~model", "state", figures("score"), "?>expected", figures("cost", spans, 2),
         figures("EI rate alone", rates, 3)]
    )  # fmt: skip
    for candidate in sorted(candidates, key=_rank)[:MOST_CANDIDATES]:
        expected = "-" if candidate.mean is None else number(candidate.mean)
        if candidate.sigma and candidate.mean is not None:
            expected = f"{number(candidate.mean)} ±{candidate.sigma:.2g}"
        table.add_row(
            candidate.model,
            candidate.state,
            candidate.score,
            expected if candidate.score is None else "",
            candidate.cost,
            candidate.rate,
        )
    page.append(table)
    if any(candidate.rate is not None for candidate in candidates):
        page.append(
            Text(
                "EI rate alone: expected improvement of this study per second of device time, if "
                "nothing else were running.",
                style="dim",
            )
        )
    if len(candidates) > MOST_CANDIDATES:
        page.append(f"... and {len(candidates) - MOST_CANDIDATES:,} more; --json gives all")
    return page


def _rank(candidate: "Candidate") -> tuple[int, float, float]:
    score = -inf if candidate.score is None else candidate.score
    return ORDER[candidate.state], -score, -(candidate.rate or 0.0)


def _training(study: "StudyView") -> list[tuple[str, str]]:
    """Return rows with the target, the evaluation and the notes of a study on a dataset."""
    training = study.training
    if training is None:
        return []
    kinds = [
        f"{count:,} {kind if count == 1 else several}"
        for kind, several, types in (
            ("number", "numbers", ("number", "decimal-comma", "yes-no")),
            ("date", "dates", ("date", "day-first", "month-first")),
            ("category", "categories", ("category", "any-spelling")),
        )
        if (count := sum(each in types for each in training.columns.values()))
    ]
    split = training.split
    evaluation = (
        f"{split.folds} folds"
        if split.kind == "folds"
        else f"{split.share:.0%} of the rows held out"
    )
    return [
        ("predicts", f"{training.target}: {training.task} from {_and(kinds)}"),
        ("evaluation", f"{evaluation}, seed {split.seed}"),
        *(("note", note) for note in training.notes),
    ]


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _against_baseline(study: "StudyView") -> list[tuple[str, str]]:
    """Return a row that says so if the best model is no better than a constant prediction."""
    best = study.incumbent
    if best is None or study.training is None or best.score > study.floor:
        return []
    return [("", f"not better than the baseline, {number(study.floor)}, a constant prediction")]


def _own(study: "StudyView") -> str:
    """Return what the best score is computed from, if it is not the metric's own value."""
    best = study.incumbent
    value = None if best is None else best.metrics.get(study.metric)
    if best is None or value is None or is_own_value(value, best.score):
        return ""
    return f" (from {study.metric} {number(value)})"


def _configuration(study: "StudyView") -> list[tuple[str, str]]:
    """Return rows with the algorithm, hyperparameters and metrics of the best model."""
    best = study.incumbent
    if best is None or not best.algorithm:
        return []
    settings = ", ".join(f"{name}={value}" for name, value in best.configuration.items())
    metrics = ", ".join(f"{name} {number(value)}" for name, value in best.metrics.items())
    rows = [("", f"{best.algorithm}({settings})")]
    return [*rows, ("", metrics)] if metrics else rows


def _size(study: "StudyView") -> str:
    known = [
        f"{count:,} {unit}"
        for count, unit in ((study.rows, "rows"), (study.columns, "columns"))
        if count is not None
    ]
    return f", {' x '.join(known)}" if known else ""


def stops(study: "StudyView") -> str:
    """Return when the study stops."""
    stop = study.stop
    rules = [
        stop.trials is not None and f"after {counted(stop.trials, 'trial')}",
        stop.cost is not None and f"after {span(stop.cost)} of device time",
        stop.deadline is not None and f"at {moment(stop.deadline)}",
        stop.expected_gain is not None
        and f"when no model is expected to gain {number(stop.expected_gain)}",
        bool(stop.gain_share)
        and "when all untried models together are expected to add less than "
        f"{100.0 * (stop.gain_share or 0.0):g} % of its gain",
    ]
    return ", or ".join([*(rule for rule in rules if rule), "when every model has been tried"])
