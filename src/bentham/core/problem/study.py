"""Studies: the arms they list, the costs of the arms and the weights of the studies.

paper                        here
user i, its set L_i          a StudySpec and its models
x in L                       an Arm: one model on one dataset, run at most once
c(x)                         StudySpec.costs[model]; studies on one dataset agree on it;
                             None if it is to be learned
-                            StudySpec.weight multiplies the study's EI (1 in the paper)
z(x_i*(0)), undefined        StudySpec.floor: the incumbent before the first observation
-                            StudySpec.gain_share: when what is left is not worth running
-                            StudySpec.descriptions: which models are similar
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bentham.errors import InvalidInput

# Beyond these limits a sum of squares could overflow; no real score or cost comes near them.
LARGEST, SMALLEST_COST = 1e50, 1e-50


class Arm(NamedTuple):
    """One model on one dataset.

    Args:
        dataset: Name of the dataset.
        model: Name of the model.
    """

    dataset: str
    model: str


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What is known about a model before it runs: its family and its features.

    Models of one family with similar features are expected to have similar scores and costs.

    Args:
        family: Name of the family, such as the algorithm; not empty.
        features: Named numbers from 0 to 1, such as scaled hyperparameters. A name means the same
            in all models of a family. Default: none.

    Raises:
        InvalidInput: The family is empty or not a string, or a feature is not a number from 0 to
            1; scale features to that range.
    """

    family: str
    features: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.family, str) or not self.family:
            raise InvalidInput(f"the family of a model is {self.family!r}; give a non-empty string")
        try:
            features = {name: float(value) for name, value in self.features.items()}
        except (TypeError, ValueError, AttributeError, OverflowError):
            raise InvalidInput(
                f"the features of a model of family {self.family!r} are {self.features!r}; "
                "map names to numbers from 0 to 1"
            ) from None
        for name, value in features.items():
            if not isinstance(name, str) or not 0.0 <= value <= 1.0:
                raise InvalidInput(
                    f"feature {name!r} of a model of family {self.family!r} is {value}; give it a "
                    "string as a name, and scale it to the range from 0 to 1"
                )
        object.__setattr__(self, "features", features)


@dataclass(frozen=True, slots=True)
class StudySpec:
    """One dataset and the candidate models to choose from, with their costs.

    Args:
        name: Unique name of the study; not empty.
        costs: Cost of each candidate model, above 0, in the unit of the times of events (such as
            seconds). None: learned from completed trials. Studies on one dataset must agree.
        dataset: Dataset of the study. Studies with the same dataset share its arms, so that one
            trial serves all of them. Default: the name of the study.
        weight: Multiplies the study's EI; above 0. Default: 1, as in the paper.
        floor: Baseline score: the incumbent before the first observation. Default: 0.
        rows: Number of rows of the dataset; helps to predict costs. Default: unknown.
        columns: Number of columns of the dataset; helps to predict costs. Default: unknown.
        tenant: Owner of the study. Tenants cannot share a dataset, since limits on usage apply
            per tenant. Default: "".
        descriptions: Descriptions of some or all of the models, so that a result of one model
            informs the beliefs about similar ones. Only the first description of a model counts;
            later ones are ignored. Default: none.
        gain_share: The study gets no more trials once all its untried models together are
            expected to add less than this share of what it has gained over its floor. Default:
            0, every model is run.

    Raises:
        InvalidInput: An argument is out of range or has the wrong type. The message names the
            argument, its value and what to give instead.
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
    gain_share: float = 0.0

    def cost(self, model: str) -> float:
        """Return the cost that the study gives for a model.

        Raises:
            InvalidInput: The study gives no cost for the model; add one to `costs`.
        """
        cost = self.costs[model]
        if cost is None:
            raise InvalidInput(f"study {self.name!r} gives no cost for model {model!r}; give one")
        return cost

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(f"the name of a study is {self.name!r}; give a non-empty string")
        if not isinstance(self.dataset, str):
            raise InvalidInput(
                f"study {self.name!r}: the dataset is {self.dataset!r}; give a string"
            )
        if not isinstance(self.tenant, str):
            raise InvalidInput(f"study {self.name!r}: the tenant is {self.tenant!r}; give a string")
        object.__setattr__(self, "dataset", self.dataset or self.name)
        try:
            # Plain floats, whatever number types were passed: events are written as JSON.
            costs = {
                model: None if cost is None else float(cost) for model, cost in self.costs.items()
            }
            object.__setattr__(self, "costs", costs)
            object.__setattr__(self, "weight", float(self.weight))
            object.__setattr__(self, "floor", float(self.floor))
            object.__setattr__(self, "gain_share", float(self.gain_share))
            if not all(isinstance(model, str) and model for model in costs):
                raise TypeError
        except (TypeError, ValueError, AttributeError, OverflowError):
            raise InvalidInput(
                f"study {self.name!r}: costs must map model names (non-empty strings) to numbers "
                "(None: to be learned); weight, floor and gain_share must be numbers"
            ) from None
        if not self.costs:
            raise InvalidInput(f"study {self.name!r} lists no models; give it at least one")
        for model, cost in self.costs.items():
            if cost is not None and not SMALLEST_COST <= cost <= LARGEST:
                raise InvalidInput(
                    f"study {self.name!r}: the cost of model {model!r} is {cost}; "
                    f"give a number from {SMALLEST_COST:g} to {LARGEST:g}"
                )
        if not 0.0 < self.weight <= LARGEST:
            raise InvalidInput(
                f"study {self.name!r}: the weight is {self.weight}; "
                "give a finite number above 0 (1 in the paper)"
            )
        if not 0.0 <= self.gain_share < 1.0:
            raise InvalidInput(
                f"study {self.name!r}: gain_share is {self.gain_share}; give a number from 0 (run "
                "every model) to below 1"
            )
        for name, size in (("rows", self.rows), ("columns", self.columns)):
            is_integer = isinstance(size, int) and not isinstance(size, bool)
            if size is not None and not (is_integer and 1 <= size <= LARGEST):
                raise InvalidInput(
                    f"study {self.name!r}: {name} is {size!r}; give an integer of at least 1, or "
                    "omit it"
                )
        if not abs(self.floor) <= LARGEST:
            raise InvalidInput(
                f"study {self.name!r}: the floor is {self.floor}; give a finite number"
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
                    "list it, or omit its description"
                )
            if not isinstance(description, ModelDescription):
                raise InvalidInput(
                    f"study {self.name!r}: the description of model {model!r} is {description!r}; "
                    "give a ModelDescription"
                )
