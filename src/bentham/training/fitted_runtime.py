"""Predicts with a fitted model: a part of every file of one.

    python FILE.pyz new.csv --out predictions.csv

This file needs only Python until the versions of the packages are checked. Opening a fitted model
runs code that it contains, so open only those that you trust.
"""

import argparse
import json
import pickle
import sys
import warnings
import zipfile
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from bentham.training.script_runtime import add_prediction_options

ARCHIVE = Path(__file__).parent
# How many parts of a version must be the same, such as 1 for the 2 of 2.3.1; else 2.
PARTS = {"python": 1, "numpy": 1, "pandas": 1, "scipy": 1, "threadpoolctl": 1}


def about() -> dict[str, Any]:
    """Return what the file says about the model: its study, score, columns and versions."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        found: dict[str, Any] = json.loads(archive.read("metadata.json"))
    return found


def installed(name: str, module: str | None) -> str | None:
    """Return the version of a package here, or of another that has the same module."""
    if name == "python":
        return "{}.{}.{}".format(*sys.version_info)
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # such as xgboost-cpu, where xgboost is installed
        others = metadata.packages_distributions().get(module or name, [])
        return metadata.version(others[0]) if others else None


def compared(versions: dict[str, str], module: str | None) -> tuple[list[str], list[str]]:
    """Return the versions that differ too much to use the model, and others that differ."""
    wrong, other = [], []
    for name, wanted in versions.items():
        here = installed(name, None if name in PARTS else module)
        if here is None:
            wrong.append(f"{name} {wanted} is not installed")
            continue
        own, theirs = here.split("."), wanted.split(".")
        text = f"{name} is {here} here, and was {wanted} when the model was trained"
        parts = PARTS.get(name, 2)
        if own[:parts] != theirs[:parts]:
            wrong.append(text)
        elif own != theirs and (name != "python" or own[:2] != theirs[:2]):
            other.append(text)
    return wrong, other


def load() -> tuple[Any, list[str], Any]:
    """Return the model, its classes, and the module that reads tables for it.

    Raises RuntimeError if a version differs too much.
    """
    found = about()
    wrong, other = compared(found["versions"], found["module"])
    if wrong:
        raise RuntimeError(
            f"this model cannot be used here: {'; '.join(wrong)}. Install what it needs: python "
            f"{ARCHIVE.name} --requirements > requirements.txt, then pip install -r "
            "requirements.txt"
        )
    for text in other:
        print(f"Warning: {text}; the last digits may differ.", file=sys.stderr)
    with zipfile.ZipFile(ARCHIVE) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the versions were compared above
        model = pickle.loads(archive.read("estimator.pkl"))
    return model, found["classes"], import_module("fitted_script")


def main() -> int:
    """Predict the rows of a file."""
    parser = argparse.ArgumentParser(
        prog=ARCHIVE.name,
        description="Predicts with a model that Bentham trained. The file runs code when it is "
        "opened: use only files that you trust.",
    )
    parser.add_argument("rows", nargs="?", help="a table with the rows to predict")
    add_prediction_options(parser)
    parser.add_argument("--about", action="store_true", help="show what the model is, as JSON")
    parser.add_argument("--requirements", action="store_true", help="show the packages it needs")
    options = parser.parse_args()
    if options.about:
        print(json.dumps(about(), indent=2))
        return 0
    if options.requirements:
        with zipfile.ZipFile(ARCHIVE) as archive:
            print(archive.read("requirements.txt").decode(), end="")
        return 0
    if options.rows is None:
        parser.error("name the file with the rows to predict, or give --about or --requirements")
    try:
        model, classes, script = load()
        script.predict_file(model, classes, options.rows, options)
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
