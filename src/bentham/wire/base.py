"""Names, numbers and problems, as they go over the wire.

Times are seconds since 1970 (UTC) by the server's clock; durations and device time are seconds.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

# Beyond these the core refuses; the wire says so first.
LARGEST, SMALLEST_COST = 1e50, 1e-50
LONGEST_NAME, LONGEST_TEXT = 200, 2000


class RequestBody(BaseModel):
    """The body of a request: what it does not know, it refuses, and `true` is no number."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True, strict=True)


class ResponseBody(BaseModel):
    """The body of an answer; a newer server may say more than an older client knows."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def complaints(errors: Sequence[Any], most: int = 20) -> list[str]:
    """What is wrong with a body, for people: never the value itself, which need not be JSON."""
    found = []
    for each in errors[:most]:
        # Parts with brackets name types of ours, which say nothing to anybody.
        place = ".".join(str(part)[:100] for part in each["loc"] if "[" not in str(part))
        text = str(each["msg"]).removeprefix("Value error, ")
        found.append(f"{place}: {text}".encode("utf-8", "replace").decode())
    return found


def _printable(text: str) -> str:
    if not text.isprintable():  # also refuses NUL and lone surrogates, which no store could hold
        raise ValueError("holds a character that cannot be printed; leave it out")
    return text


def _visible(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; write a name")
    return text


def _cost(cost: float) -> float:
    if not SMALLEST_COST <= cost <= LARGEST:
        raise ValueError("is no cost; write a number above zero, or leave it out")
    return cost


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()


# What a program wrote, over several lines perhaps; what no store could hold is left out.
Prose = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_storable)]
Name = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_NAME),
    AfterValidator(_printable),
    AfterValidator(_visible),
]
Text = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_printable)]
# Names that stand in addresses.
Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
Weight = Annotated[float, Field(ge=1e-6, le=1e6)]
Cost = Annotated[float, AfterValidator(_cost), Field(json_schema_extra={"exclusiveMinimum": 0})]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=10**12)]


class Problem(ResponseBody):
    """What went wrong (RFC 9457, application/problem+json): the cause, and what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request: str = ""
    errors: list[str] = []
