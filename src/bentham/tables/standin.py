"""A stand-in for the paper's AZURE table, taken from `oboe`, and tables that vary one property.

AZURE (17 Kaggle competitions x 8 classifiers of Azure ML Studio) was never published. Only its
shape, the names of the classifiers and the mean standard deviation over a study's models (0.12) are
known. The stand-in has the same shape and the same kinds of classifiers. Its datasets are those of
the curated suite OpenML-CC18 that have two classes and are in `oboe`; of these, the 17 with the
longest training times, since competition datasets are large. No dataset was chosen by score. See
docs/tables.md.
"""

from dataclasses import replace

import numpy as np

from bentham.core.gaussian.validation import Vector
from bentham.errors import InvalidInput
from bentham.tables.table import Table

STANDIN = "azure-standin"
STUDIES = 17
# Each classifier of Azure ML Studio, and the model of `oboe` used in its place.
CLASSIFIERS = {
    "averaged perceptron": "Perceptron",
    "Bayes point machine": "GNB",
    "boosted decision tree": "GBT learning_rate=0.25 max_depth=3 max_features=None",
    "decision forest": "RF min_samples_split=2 criterion=gini",
    "decision jungle": "ExtraTrees min_samples_split=2 criterion=entropy",
    "logistic regression": "Logit C=1 solver=liblinear penalty=l2",
    "neural network": (
        "MLP learning_rate_init=0.01 learning_rate=adaptive solver=sgd alpha=0.0001"
    ),
    "support vector machine": "lSVM C=1",
}
# The two-class datasets of OpenML-CC18 that are in `oboe`, by OpenML id.
CURATED = {
    3: "kr-vs-kp",
    31: "credit-g",
    37: "diabetes",
    44: "spambase",
    50: "tic-tac-toe",
    1049: "pc4",
    1050: "pc3",
    1063: "kc2",
    1067: "kc1",
    1068: "pc1",
    1462: "banknote-authentication",
    1464: "blood-transfusion",
    1480: "ilpd",
    1485: "madelon",
    1487: "ozone-level-8hr",
    1489: "phoneme",
    1494: "qsar-biodeg",
    1510: "wdbc",
    4134: "Bioresponse",
    40701: "churn",
    40994: "climate-model-crashes",
}


def azure_standin(oboe: Table) -> Table:
    """Return the stand-in: 17 studies x 8 classifiers."""
    table = classifiers(oboe)
    curated = [table.studies.index(f"openml-{number}") for number in CURATED]
    longest = np.argsort(-table.costs[curated].sum(axis=1), kind="stable")[:STUDIES]
    chosen = sorted(curated[place] for place in longest)
    return replace(table.only(chosen), name=STANDIN)


def classifiers(oboe: Table) -> Table:
    """Return all studies of `oboe`, restricted to the 8 classifiers."""
    places = [oboe.models.index(model) for model in CLASSIFIERS.values()]
    return replace(
        oboe,
        name="oboe-classifiers",
        models=tuple(CLASSIFIERS),
        scores=oboe.scores[:, places],
        costs=oboe.costs[:, places],
    )


def spread(table: Table) -> Vector:
    """Return the standard deviation over models of every study with at least two models."""
    several = np.isfinite(table.scores).sum(axis=1) > 1
    return np.asarray(np.nanstd(table.scores[several], axis=1, ddof=1))


def by_spread(oboe: Table) -> list[Table]:
    """Return tables of the stand-in's shape, by increasing spread: `spread:1`, ..."""
    table = classifiers(oboe)
    ordered = np.argsort(spread(table), kind="stable")
    return [
        replace(
            table.only(sorted(ordered[first : first + STUDIES].tolist())),
            name=f"spread:{first // STUDIES + 1}",
        )
        for first in range(0, len(ordered) - STUDIES + 1, STUDIES)
    ]


def of_size(oboe: Table, studies: int) -> Table:
    """Return `studies` studies, evenly spaced through the list: `classifiers:STUDIES`."""
    if not 1 <= studies <= len(oboe.studies):
        raise InvalidInput(
            f"oboe has {len(oboe.studies)} studies; choose from 1 to {len(oboe.studies)}"
        )
    places = ((np.arange(studies) + 0.5) * len(oboe.studies) / studies).astype(int)
    return replace(classifiers(oboe).only(places.tolist()), name=f"classifiers:{studies}")
