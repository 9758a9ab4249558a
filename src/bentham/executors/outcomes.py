"""Outcomes of trials: from a warden's messages and from errors of this machine."""

from math import isfinite
from typing import Any

from bentham.executors.base import Broken, Declined, Fitted, Outcome, Scored

LONGEST_REASON = 600


def outcome_of(ended: dict[str, Any]) -> Outcome:
    """Convert a warden's message to an outcome; its numbers come from the trial, unchecked."""
    if "declined" in ended:
        return Declined(readable(ended["declined"]), bool(ended["unable"]))
    if "reason" in ended:
        return Broken(readable(ended["reason"]), bool(ended["final"]))
    if "versions" in ended:  # the executor adds the content of the file
        return Fitted(b"", tuple(str(each) for each in ended["versions"]))
    try:
        score = float(ended["score"])
        metrics = {str(name): float(value) for name, value in ended["metrics"].items()}
        scores = tuple(float(each) for each in ended["scores"])
    except (ValueError, TypeError, AttributeError):
        return Broken("reported an invalid score", final=True)
    if not isfinite(score):
        return Broken(f"the score is {score}, not a finite number", final=True)
    look = ended.get("look")
    return Scored(score, metrics, scores, look if isinstance(look, dict) else None)


def readable(reason: str) -> str:
    """Return the reason as one line of printable characters, shortened if it is too long."""
    text = " ".join(reason.split())
    printable = "".join(character if character.isprintable() else "?" for character in text)
    return printable if len(printable) <= LONGEST_REASON else f"{printable[:LONGEST_REASON]}..."


def cause(error: BaseException) -> str:
    """Describe an error without the paths of this machine, because tenants read it."""
    name = type(error).__name__
    text = str(error)
    if isinstance(error, OSError) and error.errno is not None:
        text = error.strerror or ""
    return f"{name}: {text}" if text else name
