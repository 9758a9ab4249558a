"""Reads answers: whole, of the promised shape, or as an error that a person understands."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from bentham.errors import Conflict, NotAllowed, NotFound, Refused, ServiceError, Unavailable
from bentham.wire import Problem
from bentham.wire.base import ResponseBody

Item = TypeVar("Item", bound=BaseModel)
Model = TypeVar("Model", bound=BaseModel)

# A study of 10,000 candidates takes some 3 MB; an export of history may take more.
LARGEST_ANSWER = 256 * 2**20
LONGEST_PAUSE_ASKED = 3600.0
MOST_ERRORS = 5
KINDS: dict[int, type[ServiceError]] = {
    400: Refused,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: Refused,
    422: Refused,
}


class AnswerPage(ResponseBody, Generic[Item]):
    """Some of many; `next` is where the others begin."""

    items: list[Item]
    next: str | int | None = None


def read_whole(
    server: str, response: httpx2.Response, clock: Callable[[], float], until: float
) -> bytes:
    """The body of an answer, unless it is too large, or drips in too slowly."""
    chunks: list[bytes] = []
    size = 0
    for chunk in response.iter_bytes():
        size += len(chunk)
        if size > LARGEST_ANSWER:
            raise ServiceError(
                f"{server} answered more than {LARGEST_ANSWER >> 20} MiB; is it a Bentham server?"
            )
        if clock() > until:
            raise Unavailable(f"{server} did not answer in time; it may be busy: try again")
        chunks.append(chunk)
    return b"".join(chunks)


def understood(server: str, body: bytes, answer: type[Model]) -> Model:
    """The model that was promised."""
    try:
        return answer.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise ServiceError(
            f"{server} answered what this client does not understand ({where}: {first['msg']}); "
            "check that it is a Bentham server of the same version"
        ) from None


def explained(body: bytes) -> dict[str, Any] | None:
    """The problem that an error's body states, if it states one."""
    try:
        return Problem.model_validate(json.loads(body)).model_dump()
    except (ValueError, RecursionError):
        return None


def refusal(server: str, status: int, problem: dict[str, Any] | None) -> ServiceError:
    """The error for a status, in the server's own words."""
    kind = KINDS.get(status, ServiceError)
    if problem is None:
        advice = (
            "follow it by hand and use the address it leads to"
            if 300 <= status < 400
            else "check the address; if it is right, the server's log says more"
        )
        return kind(f"{server} answered {status} without a reason; {advice}", status)
    errors = problem["errors"]
    text = problem["detail"] or problem["title"]
    # A detail may list its errors itself.
    told = [error for error in errors[:MOST_ERRORS] if error not in text]
    if told:
        more = f" and {len(errors) - MOST_ERRORS} more" if len(errors) > MOST_ERRORS else ""
        text = f"{text.rstrip('.:;')}: {'; '.join(told)}{more}"
    # Names that somebody else chose stand in it: it must not steer the terminal that shows it.
    text = "".join(sign if sign.isprintable() else " " for sign in text)
    return kind(text, status, problem)


def pause_asked(header: str | None) -> float | None:
    """The seconds of a Retry-After, which may also name a time."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            then = parsedate_to_datetime(header)
        except ValueError:
            return None
        if then.tzinfo is None:
            then = then.replace(tzinfo=UTC)
        seconds = (then - datetime.now(UTC)).total_seconds()
    if not seconds >= 0.0:
        return None
    return min(seconds, LONGEST_PAUSE_ASKED)
