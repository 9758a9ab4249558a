"""Decides what to run for a lease, by the catalogue of algorithms installed here."""

from collections.abc import Callable
from pathlib import Path
from string import Formatter
from typing import Any

from bentham.errors import InvalidInput
from bentham.executors.base import Broken, Declined
from bentham.executors.process import MODEL_FILE, Call, Command
from bentham.training.catalog import load_catalog
from bentham.training.command_algorithms import command_line, placeholders
from bentham.training.fitted import NO_ESTIMATOR, FitJob, FitResult, fit_model
from bentham.training.training_plan import TrainingPlan
from bentham.training.trial import Job, Result, train
from bentham.wire import Lease

# Imported once by the fork server of a worker, so that no trial waits for these imports.
PRELOAD = (
    "bentham.training.trial:warm_up",
    "bentham.executors.launch",
    "sklearn.discriminant_analysis",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.neural_network",
    "sklearn.svm",
    "lightgbm",
    "xgboost",
)


class CatalogPlan:
    """Finds a lease's algorithm in the catalogue; `file` is the operator's file of commands.

    A trial runs in an empty folder. So a word of a command that is the name of a file next to the
    catalogue, such as train.py in "python train.py", is replaced by the path of that file. If the
    catalogue is a copy, `programs` is the folder to search instead.
    """

    def __init__(self, file: Path | None = None, programs: Path | None = None):
        self._file = None if file is None else file.absolute()
        self._programs = self._file.parent if programs is None and self._file else programs
        catalog = load_catalog(self._file)
        self.algorithms, self.problems = catalog.algorithms, catalog.problems

    def __call__(self, lease: Lease, data: str) -> Call | Command | Declined | Broken:
        """Return the function or command of a trial; Declined if another worker may run it."""
        if not lease.algorithm:
            return Declined(
                f"the model {lease.model!r} is only a name without an algorithm; a worker with "
                "--table can replay it",
                unable=True,
            )
        spec = self.algorithms.get(lease.algorithm)
        if spec is None:
            reason = f"the algorithm {lease.algorithm!r} is not installed here"
            return Declined(reason, unable=True)
        try:
            spec.check(lease.configuration)
        except InvalidInput as error:  # another version of it is installed here
            return Declined(
                f"the model {lease.model!r} does not match what is installed here: {error}",
                unable=True,
            )
        training = None if lease.training is None else TrainingPlan(**lease.training.model_dump())
        if spec.needs_data and training is None:
            reason = f"the algorithm {lease.algorithm!r} needs data, but the study names none"
            return Broken(reason, final=True)
        if spec.command and lease.purpose == "fit":
            return Broken(NO_ESTIMATOR.format(lease.algorithm), final=True)
        if spec.command:
            try:
                values = placeholders(training, data)
                words = command_line(spec, lease.configuration, values)
            except InvalidInput as error:
                return Broken(str(error), final=True)
            # Only fixed words of the operator: a name chosen by a tenant must never become the
            # path of one of the operator's files.
            return Command(
                tuple(
                    self._resolved(word) if _is_fixed(template) else word
                    for template, word in zip(spec.command, words, strict=True)
                )
            )
        job = Job.model_validate(
            {
                "training": training,
                "model": lease.model,
                "algorithm": lease.algorithm,
                "configuration": lease.configuration,
                "path": data,
                "catalog": None if self._file is None else str(self._file),
                "look_above": lease.look_above,
            }
        )
        if lease.purpose == "fit":
            fit = FitJob(
                job=job,
                out=str(Path(data).with_name(MODEL_FILE)),
                study=lease.study_name,
                score=lease.recorded,
            )
            return Call("bentham.executors.launch:fit_job", fit.model_dump(mode="json"))
        return Call("bentham.executors.launch:train_job", job.model_dump(mode="json"))

    def _resolved(self, word: str) -> str:
        if self._programs is None or "/" in word or word.startswith("."):
            return word
        program = self._programs / word
        return str(program) if program.is_file() else word


def _is_fixed(template: str) -> bool:
    return all(field is None for _, field, _, _ in Formatter().parse(template))


def train_job(job: Any, report: Callable[[float, list[float]], None]) -> Result:
    """Train the model of a job made by `CatalogPlan`; called in the trial's own process."""
    return train(Job.model_validate(job), report)


def fit_job(job: Any, report: Callable[[float, list[float]], None]) -> FitResult:  # noqa: ARG001
    """Fit the model of a job made by `CatalogPlan`, on all rows."""
    return fit_model(FitJob.model_validate(job))
