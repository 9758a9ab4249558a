"""The paper's synthetic problem: 50 studies, 50 models, Matern 5/2.

The paper specifies zero mean, a Matern covariance with nu = 5/2, and an independent sample per
study, shifted up to be non-negative. It specifies neither the models' positions nor their costs.
Here the models are evenly spaced points of [0, 1], with length scale 0.2 and variance 1; each
study's sample has its minimum subtracted; a model's cost on a study is the study's size times the
model's complexity, each drawn log-uniformly between 1 and 4. Numbers are rounded to 6 decimals.
"""

import numpy as np

from bentham.core.gaussian.kernels import correlation
from bentham.core.gaussian.validation import Matrix
from bentham.tables.table import Table

STUDIES = MODELS = 50
LENGTH_SCALE = 0.2
COST_SPREAD = 4.0
DECIMALS = 6
# The eigenvectors of the covariance, by ascending eigenvalue, whose first entry was negative when
# the bundled table was drawn; the first entry of all others was positive.
NEGATIVE = (2, 6, 10, 14, 18, 20, 22, 24, 30, 32, 38, 44, 46)


def model_features() -> Matrix:
    """Return the models' positions, one row each."""
    return np.linspace(0.0, 1.0, MODELS)[:, np.newaxis]


def dataset_sizes(costs: Matrix) -> tuple[tuple[int, int], ...]:
    """Return (rows, 0) per study: rows in proportion to its size, 1000 on (geometric) average."""
    logs = np.log(costs).mean(axis=1)
    return tuple((int(rows), 0) for rows in np.round(1000.0 * np.exp(logs - logs.mean())))


def draw_synthetic(seed: int) -> Table:
    """Draw the problem with a random seed; the bundled table is the draw of seed 0."""
    rng = np.random.default_rng(seed)
    features = model_features()
    matrix = correlation("matern52", features, LENGTH_SCALE)
    # Use an eigendecomposition, since the matrix is nearly singular.
    values, vectors = np.linalg.eigh(matrix)
    # The signs of eigenvectors depend on the library and the processor, so fix them.
    signs = np.sign(vectors[0])
    signs[list(NEGATIVE)] *= -1.0
    root = vectors * signs * np.sqrt(np.maximum(values, 0.0))
    scores = rng.standard_normal((STUDIES, MODELS)) @ root.T
    scores -= scores.min(axis=1, keepdims=True)
    sizes = COST_SPREAD ** rng.random(STUDIES)
    complexities = COST_SPREAD ** rng.random(MODELS)
    costs = np.round(np.outer(sizes, complexities), DECIMALS)
    return Table(
        name="synthetic" if seed == 0 else f"synthetic:{seed}",
        studies=tuple(f"study-{study:02}" for study in range(STUDIES)),
        models=tuple(f"model-{model:02}" for model in range(MODELS)),
        scores=np.round(scores, DECIMALS),
        costs=costs,
        features=features,
        sizes=dataset_sizes(costs),
    )
