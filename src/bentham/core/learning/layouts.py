"""Every layout of a prior, by its name."""

from collections.abc import Callable, Mapping
from typing import Any

from bentham.core.gaussian.prior import JointPrior, Prior, ProductPrior, SharedPrior
from bentham.core.learning.prior import LearnedPrior
from bentham.errors import InvalidPrior


def prior_from(description: Mapping[str, Any]) -> Prior | LearnedPrior:
    """The prior that `describe` gave as plain data."""
    layouts: dict[str, Callable[..., Prior | LearnedPrior]] = {
        "shared": SharedPrior,
        "product": ProductPrior,
        "joint": JointPrior,
        "learned": LearnedPrior,
    }
    if not isinstance(description, Mapping):
        raise InvalidPrior("a prior is described by an object with a layout, not by anything else")
    arguments = dict(description)
    layout = arguments.pop("layout", None)
    if not isinstance(layout, str) or layout not in layouts:
        raise InvalidPrior(f"a prior's layout is one of {', '.join(layouts)}, not {layout!r}")
    try:
        return layouts[layout](**arguments)
    except (TypeError, OverflowError) as error:
        raise InvalidPrior(f"this is no description of a {layout} prior: {error}") from error
