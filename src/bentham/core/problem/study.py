"""The problem: studies, the arms they list, what those cost and what each study weighs.

paper                        here
user i, its set L_i          a Study and its models
x in L                       an Arm: one model on one dataset, run at most once
c(x)                         Study.costs[model]; studies on one dataset agree on it;
                             None where it is to be learned
-                            Study.weight multiplies the study's EI (1 is the paper)
z(x_i*(0)), undefined        Study.floor: the incumbent before the first observation
-                            Study.descriptions: which models are alike
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bentham.errors import InvalidInput

# Beyond these a sum of squares would overflow; no score or cost of the world comes near them.
LARGEST, SMALLEST_COST = 1e50, 1e-50


class Arm(NamedTuple):
    """One model on one dataset."""

    dataset: str
    model: str


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What is known of a model before it runs: its family, and where it stands within that.

    Features are named numbers from 0 to 1, such as its hyperparameters on their scales; a name
    means the same in all models of a family. Models of one family with features that are near each
    other are expected to score and to cost alike.
    """

    family: str
    features: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.family, str) or not self.family:
            raise InvalidInput(
                f"the family of a model is {self.family!r}; name it by a text that is not empty"
            )
        try:
            features = {name: float(value) for name, value in self.features.items()}
        except (TypeError, ValueError, AttributeError, OverflowError):
            raise InvalidInput(
                f"the features of a model of family {self.family!r} map names to numbers from 0 to "
                f"1; {self.features!r} does not"
            ) from None
        for name, value in features.items():
            if not isinstance(name, str) or not 0.0 <= value <= 1.0:
                raise InvalidInput(
                    f"feature {name!r} of a model of family {self.family!r} is {value}; name it by "
                    "a text, and scale it to the range from 0 to 1"
                )
        object.__setattr__(self, "features", features)


@dataclass(frozen=True, slots=True)
class Study:
    """One dataset and the candidate models to choose among, each with its cost.

    A cost of None is learned from the trials that end; a dataset's rows and columns, where given,
    help to predict it.

    The dataset is the study's own name unless given: two studies that name the same dataset
    share its arms, so that one trial serves both. Studies of different tenants share none: what
    a tenant may use at most is decided tenant by tenant.

    Models may be described, some or all, so that what is learned of one is believed of its like.
    What a model is is said once: a later description of the same name changes nothing.
    """

    name: str
    costs: Mapping[str, float | None]
    dataset: str = ""
    weight: float = 1.0
    floor: float = 0.0
    rows: int | None = None
    columns: int | None = None
    tenant: str = ""
    descriptions: Mapping[str, ModelDescription] = field(default_factory=dict)

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
        self._check_descriptions()

    def _check_descriptions(self) -> None:
        if not isinstance(self.descriptions, Mapping):
            raise InvalidInput(
                f"study {self.name!r}: the descriptions are {self.descriptions!r}; map models to "
                "their descriptions"
            )
        object.__setattr__(self, "descriptions", dict(self.descriptions))
        for model, description in self.descriptions.items():
            if model not in self.costs:
                raise InvalidInput(
                    f"study {self.name!r} describes model {model!r}, which it does not list; "
                    "list it, or leave its description out"
                )
            if not isinstance(description, ModelDescription):
                raise InvalidInput(
                    f"study {self.name!r}: the description of model {model!r} is {description!r}; "
                    "give a ModelDescription"
                )
