"""Reads responses: checks their size and shape, and turns failures into readable errors."""

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

# A study with 10,000 candidates takes about 3 MB; an export of history may take more.
LARGEST_ANSWER = 256 * 2**20
LONGEST_RETRY_AFTER = 3600.0
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
    """One page of a list; `next` is the cursor of the next page, None on the last one."""

    items: list[Item]
    next: str | int | None = None


def read_whole(
    server: str, response: httpx2.Response, clock: Callable[[], float], until: float
) -> bytes:
    """Read the body of a response; raise if it is too large or not complete by `until`."""
    chunks: list[bytes] = []
    size = 0
    for chunk in response.iter_bytes():
        size += len(chunk)
        if size > LARGEST_ANSWER:
            raise ServiceError(
                f"{server} sent more than {LARGEST_ANSWER >> 20} MiB; check that it is a Bentham "
                "server"
            )
        if clock() > until:
            raise Unavailable(f"{server} did not respond in time; it may be busy: try again")
        chunks.append(chunk)
    return b"".join(chunks)


def parse_answer(server: str, body: bytes, answer: type[Model]) -> Model:
    """Parse the body of a response into the expected model."""
    try:
        return answer.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise ServiceError(
            f"{server} sent an unexpected response ({where}: {first['msg']}); "
            "check that it is a Bentham server of the same version"
        ) from None


def parse_problem(body: bytes) -> dict[str, Any] | None:
    """Parse the problem from the body of an error response; None if it has none."""
    try:
        return Problem.model_validate(json.loads(body)).model_dump()
    except (ValueError, RecursionError):
        return None


def error_of(server: str, status: int, problem: dict[str, Any] | None) -> ServiceError:
    """Return the exception for a status, with the server's own message."""
    kind = KINDS.get(status, ServiceError)
    if problem is None:
        advice = (
            "it redirects: use the address that it redirects to"
            if 300 <= status < 400
            else "check the address; if it is correct, see the server's log"
        )
        return kind(f"{server} returned status {status} without a reason; {advice}", status)
    errors = problem["errors"]
    text = problem["detail"] or problem["title"]
    # The detail may already contain some of the errors.
    details = [error for error in errors[:MOST_ERRORS] if error not in text]
    if details:
        more = f" and {len(errors) - MOST_ERRORS} more" if len(errors) > MOST_ERRORS else ""
        text = f"{text.rstrip('.:;')}: {'; '.join(details)}{more}"
    # The text may contain names chosen by other users: replace terminal control characters.
    text = "".join(character if character.isprintable() else " " for character in text)
    return kind(text, status, problem)


def parse_retry_after(header: str | None) -> float | None:
    """Parse a Retry-After header (seconds or a date) into seconds; None if missing or invalid."""
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
    return min(seconds, LONGEST_RETRY_AFTER)
