"""Priors from plain data, by the name of their layout."""

from collections.abc import Callable, Mapping
from typing import Any

from bentham.core.gaussian.prior import JointPrior, Prior, ProductPrior, SharedPrior
from bentham.core.learning.prior import LearnedPrior
from bentham.errors import InvalidPrior


def prior_from(description: Mapping[str, Any]) -> Prior | LearnedPrior:
    """Return the prior that its method `describe` turned into plain data.

    Args:
        description: "layout" (shared, product, joint or learned), and the arguments of that
            prior's class.

    Raises:
        InvalidPrior: The layout is unknown, an argument is missing or unknown, or a value is
            invalid; the message names it.
    """
    layouts: dict[str, Callable[..., Prior | LearnedPrior]] = {
        "shared": SharedPrior,
        "product": ProductPrior,
        "joint": JointPrior,
        "learned": LearnedPrior,
    }
    if not isinstance(description, Mapping):
        raise InvalidPrior("the description of a prior is not an object; give one with a layout")
    arguments = dict(description)
    layout = arguments.pop("layout", None)
    if not isinstance(layout, str) or layout not in layouts:
        raise InvalidPrior(
            f"the layout of the prior is {layout!r}; choose one of {', '.join(layouts)}"
        )
    try:
        return layouts[layout](**arguments)
    except (TypeError, OverflowError) as error:
        raise InvalidPrior(f"invalid description of a {layout} prior: {error}") from error
