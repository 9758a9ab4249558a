"""Small datasets with missing values, rare categories, and a constant and an empty column."""

import csv
import hashlib
import io
from pathlib import Path

import numpy as np

from bentham.training.dataset import ColumnType
from bentham.training.spaces import CandidateModel
from bentham.training.training_plan import RowSplit, SplitKind, Task, TrainingPlan
from bentham.training.trial import Job

COLUMNS: dict[str, ColumnType] = {
    "size": "number",
    "weight": "number",
    "same": "number",
    "empty": "number",
    "colour": "category",
    "rare": "category",
}


def as_csv(header: list[str], rows: list[list[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return file.getvalue()


def mixed(task: Task, rows: int = 200) -> str:
    """A table as CSV; every seventh row has a value of `rare` that no other row has."""
    chance = np.random.Generator(np.random.PCG64(5))
    size, weight = chance.normal(size=rows), chance.normal(size=rows)
    colour = chance.choice(["red", "green", "blue"], rows)
    worth = 2 * size - weight + 1.5 * (colour == "red") + 0.2 * chance.normal(size=rows)
    lines = []
    for row in range(rows):
        if task == "classification":
            target = "high" if worth[row] > 1.5 else "low" if worth[row] < -0.5 else "middle"
        else:
            target = repr(float(5000 + 1000 * worth[row]))
        lines.append(
            [
                "" if row % 17 == 3 else repr(float(size[row])),
                "?" if row % 19 == 4 else repr(float(weight[row])),
                "7",
                "",
                "" if row % 13 == 1 else str(colour[row]),
                f"only {row}" if row % 7 == 0 else "common",
                "" if row % 50 == 49 else target,
            ]
        )
    return as_csv([*COLUMNS, "worth"], lines)


def training(
    text: str,
    task: Task,
    metric: str,
    *,
    kind: SplitKind = "holdout",
    target: str = "worth",
    columns: dict[str, ColumnType] | None = None,
) -> TrainingPlan:
    return TrainingPlan(
        dataset="dataset-1",
        name="mixed.csv",
        hash=hashlib.sha256(text.encode()).hexdigest(),
        format="csv",
        delimiter=",",
        bytes=len(text.encode()),
        target=target,
        task=task,
        metric=metric,
        classes=3 if task == "classification" else 0,
        columns=COLUMNS if columns is None else columns,
        split=RowSplit(kind=kind, folds=3, share=0.25, seed=7),
    )


def job(path: Path, plan: TrainingPlan, model: str, candidate: CandidateModel) -> Job:
    return Job(
        training=plan,
        model=model,
        algorithm=candidate.algorithm,
        configuration=candidate.configuration,
        path=str(path),
    )


def write_csv(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path
