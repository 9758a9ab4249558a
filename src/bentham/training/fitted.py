"""Fits a model on all rows, and writes it to a file that needs neither Bentham nor the data.

The file is a zip that Python runs. It contains the script of the model, the fitted estimator as a
pickle, and what is known about it. A pickle runs code when it is opened: nothing of Bentham but the
trial that wrote it ever opens one.
"""

import json
import pickle
import platform
import zipfile
from dataclasses import dataclass
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from bentham.errors import InvalidInput
from bentham.training.catalog import load_catalog
from bentham.training.script import function_source, script
from bentham.training.spaces import AlgorithmSpec
from bentham.training.training_plan import TrainingPlan
from bentham.training.trial import Job, executed

NO_ESTIMATOR = (
    "{} is a command of the operator, which gives no fitted model; take the model from the program "
    "itself"
)
MAIN = "import sys\n\nfrom fitted_model import main\n\nsys.exit(main())\n"
CHECKED = 20  # rows for which the saved model must predict the same as the original
_OLDEST = (1980, 1, 1, 0, 0, 0)  # the time of every file in the zip: equal models, equal files


class FitJob(BaseModel):
    """The model to fit, where to write it, and the names of its study and its recorded score."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job: Job
    out: str
    study: str
    score: float | None


@dataclass(frozen=True)
class FitResult:
    """The versions of Python and the packages that the written file needs, as NAME==VERSION."""

    versions: list[str]


def fit_model(fit: FitJob) -> FitResult:
    """Fit the model on all rows and write its file; raises any error of the training itself."""
    job = fit.job
    algorithm = load_catalog(Path(job.catalog) if job.catalog else None).algorithm(job.algorithm)
    source = script(
        job.training, job.model, algorithm, job.configuration, score=fit.score, study=fit.study
    )
    with executed(source, job.model) as namespace:
        model, classes = namespace["fit"](job.path)
        saved = _pickled(model, namespace, job.path)
    versions = _versions(job.training, algorithm)
    described = {
        "study": fit.study,
        "model": job.model,
        "algorithm": job.algorithm,
        "configuration": job.configuration,
        "metric": job.training.metric,
        "score": fit.score,
        "task": job.training.task,
        "target": job.training.target,
        "columns": job.training.columns,
        "classes": classes,
        "data": {"name": job.training.name, "sha256": job.training.hash},
        "module": algorithm.estimators[job.training.task].partition(".")[0].partition(":")[0],
        "versions": versions,
    }
    required = [f"{name}=={version}" for name, version in versions.items()]
    contents = {
        "__main__.py": MAIN.encode(),
        "fitted_model.py": _runtime().encode(),
        "fitted_script.py": source.encode(),
        "metadata.json": json.dumps(described, indent=2).encode(),
        "requirements.txt": "".join(f"{each}\n" for each in required[1:]).encode(),  # not Python
        "estimator.pkl": saved,
    }
    with zipfile.ZipFile(fit.out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _OLDEST), content, zipfile.ZIP_DEFLATED)
    return FitResult(required)


def _runtime() -> str:
    """Return the source of `fitted_runtime`, with what it imports from the script's functions."""
    text = (files("bentham.training") / "fitted_runtime.py").read_text(encoding="utf-8")
    shared = "add_prediction_options"
    imported = f"from bentham.training.script_runtime import {shared}\n"
    return text.replace(imported, f"\n{function_source(shared)}\n\n", 1)


def _pickled(model: Any, namespace: dict[str, Any], path: str) -> bytes:
    """Return the model as a pickle, after a check that it can be loaded and predicts the same."""
    rows = namespace["load"](path)[0].iloc[:CHECKED]
    try:
        saved: bytes = pickle.dumps(model, protocol=5)
        same = list(pickle.loads(saved).predict(rows)) == list(model.predict(rows))
    except Exception as error:
        raise InvalidInput(
            f"this model cannot be saved ({type(error).__name__}: {error}); export its script"
        ) from None
    if not same:
        raise InvalidInput("this model predicts something else once saved; export its script")
    return saved


def _versions(training: TrainingPlan, algorithm: AlgorithmSpec) -> dict[str, str]:
    """Return the versions of Python and the packages that the script and the model need."""
    module = algorithm.estimators[training.task].partition(":")[0].partition(".")[0]
    names = ["numpy", "pandas", "scikit-learn", "scipy", "threadpoolctl"]
    if training.format == "parquet":
        names.append("pyarrow")
    if module != "sklearn":
        names += metadata.packages_distributions().get(module, [])
    found = {"python": platform.python_version()}
    return found | {name: metadata.version(name) for name in dict.fromkeys(names)}
