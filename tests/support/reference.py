"""A plain reference implementation of the paper's rules and of the simulator, for comparison.

Nothing of bentham is imported. Every decision conditions from scratch by solving the linear system
of App. A, and evaluates every study and every model. It shares only the rules with the real
implementation: arms selected before are excluded; ties go to the lowest study, then the lowest
model; completions at one instant are observed in start order, before any decision at that instant.
"""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Matrix = npt.NDArray[np.float64]


def sample_mean_and_covariance(history: Matrix, jitter: float) -> tuple[Matrix, Matrix]:
    covariance = np.atleast_2d(np.cov(history.T, ddof=1))
    return history.mean(axis=0), covariance + jitter * np.eye(history.shape[1])


def improvement(
    mean: Matrix, covariance: Matrix, seen: list[int], scores: Matrix, floor: float
) -> Matrix:
    """EI of every model of one study."""
    incumbent = max((float(scores[model]) for model in seen), default=floor)
    mu, k = mean.copy(), covariance.copy()
    if seen:
        v = covariance[seen]
        gain = np.linalg.solve(covariance[np.ix_(seen, seen)], v).T
        mu = mean + gain @ (scores[seen] - mean[seen])
        k = covariance - gain @ v
    sigma = np.sqrt(np.maximum(np.diag(k), 0.0))
    result = np.zeros(len(mean))
    for model in range(len(mean)):
        gap = mu[model] - incumbent
        if sigma[model] == 0.0:
            result[model] = max(gap, 0.0)
        else:
            u = gap / sigma[model]
            density = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
            result[model] = max(0.0, sigma[model] * (u * ndtr(u) + density))
    return result


def run(
    policy: str, scores: Matrix, costs: Matrix, mean: Matrix, covariance: Matrix,
    devices: int, warm: int = 2, floor: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """Return trials (study, model, device, start, end), the cumulative regret and the end time."""
    studies, models = scores.shape
    order = [sorted(range(models), key=lambda model: costs[i, model]) for i in range(studies)]
    plan = [(i, order[i][turn]) for turn in range(min(warm, models)) for i in range(studies)]
    selected: set[tuple[int, int]] = set()
    seen: list[list[int]] = [[] for _ in range(studies)]
    running: list[tuple[float, int, int, int, int]] = []
    trials: list[tuple[int, int, int, float, float]] = []
    idle = list(range(devices))
    incumbents: list[list[tuple[float, float]]] = [[(0.0, floor)] for _ in range(studies)]
    now, last = 0.0, -1
    cache: dict[int, Matrix] = {}

    def ei(study: int) -> Matrix:
        if study not in cache:
            cache[study] = improvement(mean, covariance, seen[study], scores[study], floor)
        return cache[study]

    def choose() -> tuple[int, int] | None:
        nonlocal last
        if plan:
            return plan.pop(0)
        free = [i for i in range(studies) if any((i, m) not in selected for m in range(models))]
        if not free:
            return None
        if policy == "round-robin":
            study = min((i for i in free if i > last), default=free[0])
            last = study
            open_models = [m for m in range(models) if (study, m) not in selected]
            return study, max(open_models, key=lambda m: (ei(study)[m], -m))
        best, arm = -math.inf, None
        for i in free:
            for m in range(models):
                if (i, m) not in selected and ei(i)[m] / costs[i, m] > best:
                    best, arm = ei(i)[m] / costs[i, m], (i, m)
        return arm

    while True:
        while idle:
            arm = choose()
            if arm is None:
                break
            device = min(idle)
            idle.remove(device)
            selected.add(arm)
            end = now + costs[arm]
            running.append((end, len(trials), device, *arm))
            trials.append((*arm, device, now, end))
        if not running:
            break
        now = min(entry[0] for entry in running)
        ended = sorted(entry for entry in running if entry[0] == now)
        running = [entry for entry in running if entry[0] != now]
        for _, _, device, i, m in ended:
            seen[i].append(m)
            cache.pop(i, None)
            idle.append(device)
            first = len(incumbents[i]) == 1
            if first or scores[i, m] > incumbents[i][-1][1]:
                incumbents[i].append((now, float(scores[i, m])))
    regret = 0.0
    for i in range(studies):
        best = float(scores[i].max())
        steps = [*incumbents[i], (now, 0.0)]
        for (start, value), (stop, _) in itertools.pairwise(steps):
            regret += (best - value) * (stop - start)
    return {"trials": trials, "regret": regret, "end_time": now}
