"""The demo's measurements: studies and trials, exactly as the API returns them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bentham.client import Client
from bentham.core.problem.study import ModelDescription
from bentham.training.catalog import load_catalog
from bentham.wire import StudyView


@dataclass(frozen=True, slots=True)
class MeasuredArm:
    """A trained model of a study: its score, and its times by the server's clock."""

    study: str  # the id
    model: str
    score: float
    started: float
    ended: float


@dataclass(frozen=True, slots=True)
class Measured:
    """All studies with a score, all arms with a score, and the descriptions of the models."""

    studies: tuple[StudyView, ...]
    arms: tuple[MeasuredArm, ...]
    descriptions: Mapping[str, ModelDescription]

    def scores_of(self, study: str) -> list[float]:
        """Return all scores of a study, by its id."""
        return [arm.score for arm in self.arms if arm.study == study]


def measure(client: Client) -> Measured:
    """Read all results; a study without a score cannot be compared and is left out."""
    created = sorted(client.studies(), key=lambda study: study.created)
    studies = tuple(study for study in created if study.incumbent is not None)
    trials = {(trial.study, trial.model): trial for trial in client.trials(state="complete")}
    algorithms = load_catalog().algorithms
    arms: list[MeasuredArm] = []
    descriptions: dict[str, ModelDescription] = {}
    for study in studies:
        # In the order in which the study lists them, as the scheduler has them.
        for candidate in client.candidates(study.id):
            trial = trials.get((study.id, candidate.model))
            if trial is None or trial.score is None or trial.ended is None:
                continue
            arms.append(MeasuredArm(study.id, trial.model, trial.score, trial.started, trial.ended))
            model = algorithms[candidate.algorithm].describe(candidate.configuration)
            descriptions[trial.model] = ModelDescription(model.family, model.features)
    return Measured(studies, tuple(arms), descriptions)


def study_row(study: StudyView) -> dict[str, Any]:
    """Return a row of the table of results."""
    best = study.incumbent
    return {
        "id": study.id,
        "tenant": study.tenant,
        "study": study.name,
        "metric": study.metric,
        "score": None if best is None else best.score,
        "model": None if best is None else best.model,
        "configuration": {} if best is None else best.configuration,
        "metrics": {} if best is None else best.metrics,
        "models": study.models,
        "complete": study.trials.complete,
        "failed": study.trials.failed,
        "device_seconds": study.device_seconds,
    }


def score_rows(measured: Measured) -> list[dict[str, Any]]:
    """Return every score, under names that are the same in every run."""
    named = {study.id: study for study in measured.studies}
    return [
        {
            "tenant": named[arm.study].tenant,
            "study": named[arm.study].name,
            "model": arm.model,
            "score": arm.score,
            "seconds": arm.ended - arm.started,
        }
        for arm in measured.arms
    ]


def fingerprint(measured: Measured) -> str:
    """Return a short hash that is equal for two runs with exactly the same scores."""
    rows = [
        (row["tenant"], row["study"], row["model"], row["score"]) for row in score_rows(measured)
    ]
    return hashlib.sha256(json.dumps(sorted(rows)).encode()).hexdigest()[:12]
