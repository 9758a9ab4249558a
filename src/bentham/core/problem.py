"""The problem: studies, the arms they list, what those cost and what each study weighs.

paper                        here
user i, its set L_i          a Study and its models
x in L                       an Arm: one model on one dataset, run at most once
c(x)                         Study.costs[model]; studies on one dataset agree on it;
                             None where it is to be learned
-                            Study.weight multiplies the study's EI (1 is the paper)
z(x_i*(0)), undefined        Study.floor: the incumbent before the first observation
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bentham.errors import InvalidInput

# Beyond these a sum of squares would overflow; no score or cost of the world comes near them.
LARGEST, SMALLEST_COST = 1e50, 1e-50


class Arm(NamedTuple):
    """One model on one dataset."""

    dataset: str
    model: str


@dataclass(frozen=True, slots=True)
class Study:
    """One dataset and the candidate models to choose among, each with its cost.

    A cost of None is learned from the trials that end; a dataset's rows and columns, where given,
    help to predict it.

    The dataset is the study's own name unless given: two studies that name the same dataset
    share its arms, so that one trial serves both. Studies of different tenants share none: what
    a tenant may use at most is decided tenant by tenant.
    """

    name: str
    costs: Mapping[str, float | None]
    dataset: str = ""
    weight: float = 1.0
    floor: float = 0.0
    rows: int | None = None
    columns: int | None = None
    tenant: str = ""

    def cost(self, model: str) -> float:
        """What a model costs, where that was said."""
        cost = self.costs[model]
        if cost is None:
            raise InvalidInput(
                f"study {self.name!r} does not say what model {model!r} costs; give its cost"
            )
        return cost

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(f"a study is named by a text that is not empty, not {self.name!r}")
        if not isinstance(self.dataset, str):
            raise InvalidInput(f"study {self.name!r}: the dataset is {self.dataset!r}, not a text")
        if not isinstance(self.tenant, str):
            raise InvalidInput(f"study {self.name!r}: the tenant is {self.tenant!r}, not a text")
        object.__setattr__(self, "dataset", self.dataset or self.name)
        try:
            # Plain floats, whatever number types came: an event must be fit for JSON.
            costs = {
                model: None if cost is None else float(cost) for model, cost in self.costs.items()
            }
            object.__setattr__(self, "costs", costs)
            object.__setattr__(self, "weight", float(self.weight))
            object.__setattr__(self, "floor", float(self.floor))
            if not all(isinstance(model, str) and model for model in costs):
                raise TypeError
        except (TypeError, ValueError, AttributeError, OverflowError):
            raise InvalidInput(
                f"study {self.name!r}: costs map models to numbers (None: to be learned), models "
                "are named by texts, weight and floor are numbers"
            ) from None
        if not self.costs:
            raise InvalidInput(f"study {self.name!r} lists no models; give it at least one")
        for model, cost in self.costs.items():
            if cost is not None and not SMALLEST_COST <= cost <= LARGEST:
                raise InvalidInput(
                    f"study {self.name!r}: the cost of model {model!r} is {cost}; "
                    f"a cost is a number from {SMALLEST_COST:g} to {LARGEST:g}"
                )
        if not 0.0 < self.weight <= LARGEST:
            raise InvalidInput(
                f"study {self.name!r}: the weight is {self.weight}; "
                "a weight is a finite number above zero (1 is the paper's)"
            )
        for what, size in (("rows", self.rows), ("columns", self.columns)):
            whole = isinstance(size, int) and not isinstance(size, bool)
            if size is not None and not (whole and 1 <= size <= LARGEST):
                raise InvalidInput(
                    f"study {self.name!r}: {what} is {size!r}; it is a whole number of at least 1, "
                    "or left out"
                )
        if not abs(self.floor) <= LARGEST:
            raise InvalidInput(
                f"study {self.name!r}: the floor is {self.floor}; it must be a finite number"
            )
