"""Runs a trial in this process: trains and evaluates a model by executing its script."""

import contextlib
import importlib
import linecache
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from bentham.training.catalog import load_catalog
from bentham.training.parameters import Setting
from bentham.training.script import script
from bentham.training.training_plan import TrainingPlan


class Job(BaseModel):
    """The model to train, and its data; sent to another process as JSON.

    `path` is the file with the data, `catalog` the operator's file of commands, if there is one.
    A score above `look_above` is followed by a look at the model; without it, there is none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    training: TrainingPlan
    model: str
    algorithm: str
    configuration: dict[str, Setting]
    path: str
    catalog: str | None = None
    look_above: float | None = None


@dataclass(frozen=True)
class Result:
    """The score (larger is better), the metrics themselves, and the score of each fold.

    `look`, if given, computes a look at the model; it is called once the score is reported.
    """

    score: float
    metrics: dict[str, float]
    scores: list[float]
    look: Callable[[], dict[str, Any]] | None = None


def train(job: Job, report: Callable[[float, list[float]], None]) -> Result:
    """Train and evaluate; after each fold call `report` with the completed fraction and scores.

    Raises InvalidInput if the catalogue has no such model, and any error of the training itself.
    """
    algorithm = load_catalog(Path(job.catalog) if job.catalog else None).algorithm(job.algorithm)
    source = script(job.training, job.model, algorithm, job.configuration)
    with executed(source, job.model) as namespace:
        if job.look_above is None:
            return Result(*namespace["evaluate"](job.path, report))
        from bentham.training.look import HeldOut  # imports numpy, which the worker does not need

        held_out = HeldOut(job.training)
        held_out.install(namespace)
        score, metrics, scores = namespace["evaluate"](job.path, report)
    wanted = score > job.look_above
    return Result(score, metrics, scores, held_out.look if wanted else None)


@contextlib.contextmanager
def executed(source: str, model: str) -> Iterator[dict[str, Any]]:
    """Execute the script of a model, and yield its names; warnings go to the log."""
    name = f"<{model}>"
    # So that a traceback shows the lines, although there is no file.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "bentham_trial"}
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # and are not errors
        exec(compile(source, name, "exec"), namespace)
        yield namespace


def warm_up(catalog: Path | None = None) -> None:
    """Import the modules that scripts import, so that processes forked from here start faster.

    A package that cannot be imported is skipped; the trial that needs it reports the error.
    """
    modules = {"pyarrow.parquet", "sklearn.calibration", "bentham.training.script_runtime"}
    modules |= {"bentham.training.look", "bentham.training.fitted"}
    for algorithm in load_catalog(catalog).algorithms.values():
        modules |= {path.split(":")[0] for path in algorithm.estimators.values()}
    for module in sorted(modules):
        with contextlib.suppress(Exception):
            importlib.import_module(module)
