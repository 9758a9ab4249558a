"""Names, numbers and problems in request and response bodies.

Times are seconds since 1970 (UTC) by the server's clock; durations and device time are seconds.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bentham.wording import choose

# The core refuses values beyond these; requests are checked first.
LARGEST, SMALLEST_COST = 1e50, 1e-50
LONGEST_NAME, LONGEST_TEXT = 200, 2000


class RequestBody(BaseModel):
    """The body of a request. Unknown fields are refused, and values are not converted."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True, strict=True)


class ResponseBody(BaseModel):
    """The body of a response. Unknown fields are ignored, since a newer server may send more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def complaints(errors: Sequence[Any], most: int = 20) -> list[str]:
    """Describe what is wrong with a body; without the values, which may not be valid JSON."""
    found = []
    for each in errors[:most]:
        # Parts with brackets are names of internal types, which mean nothing to a user.
        place = ".".join(str(part)[:100] for part in each["loc"] if "[" not in str(part))
        text = _in_words(each)
        found.append(f"{place}: {text}".encode("utf-8", "replace").decode())
    return found


def _in_words(error: Any) -> str:
    """Return what is wrong with a value in the words of a user, not of a program."""
    if error["type"] == "literal_error":
        # The values are known only as text; none of them contains a quote.
        allowed = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        given = error["input"]
        return choose(given if isinstance(given, str) else "", allowed)
    if error["type"] == "string_too_short" and error["ctx"]["min_length"] == 1:
        return "is empty; give a name"
    return str(error["msg"]).removeprefix("Value error, ")


def _printable(text: str) -> str:
    if not text.isprintable():  # includes NUL and lone surrogates, which cannot be stored
        raise ValueError("contains a character that is not printable; remove it")
    return text


def _visible(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; give a name")
    return text


def _cost(cost: float) -> float:
    if not SMALLEST_COST <= cost <= LARGEST:
        raise ValueError("is not a valid cost; give a number above zero, or leave it out")
    return cost


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()


# Text of a program, possibly several lines, without characters that cannot be stored.
Prose = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_storable)]
Name = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_NAME),
    AfterValidator(_printable),
    AfterValidator(_visible),
]
Text = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_printable)]
# Names that are part of URLs.
Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
Weight = Annotated[float, Field(ge=1e-6, le=1e6)]
Cost = Annotated[float, AfterValidator(_cost), Field(json_schema_extra={"exclusiveMinimum": 0})]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=10**12)]


class Problem(ResponseBody):
    """An error (RFC 9457, application/problem+json): what is wrong, and what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request: str = ""
    errors: list[str] = []
