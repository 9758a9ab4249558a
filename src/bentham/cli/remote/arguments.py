"""Argument parsing for the remote commands: durations, times, study names, confirmation."""

import re
import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from bentham.cli.remote.formatting import UNITS
from bentham.errors import InvalidInput, NotFound
from bentham.wording import did_you_mean

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.wire import StudyView

STUDY_ID = re.compile(r"s_[0-9a-z]{16}")


def seconds_of(option: str, text: str) -> float:
    """Parse a duration such as 90, 30m, 2h or 30d into seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text.strip(), re.ASCII)
    if match is None:
        raise InvalidInput(
            f"{option} is {text!r}; give a number and a unit (s, m, h, d or w), for example 30d"
        )
    return float(match[1]) * UNITS[match[2] or "s"]


def time_of(option: str, text: str) -> float:
    """Parse a time: 2026-11-16T18:00 (local unless it has a time zone), or +2h from now."""
    if text.startswith("+"):
        return time.time() + seconds_of(option, text[1:])
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{option} is {text!r}; give a time such as 2026-11-16T18:00, or +2h from now"
        ) from None


def find_study(client: "Client", text: str, kind: str = "study") -> "StudyView":
    """Find a study by its id or, if unique, by its name; `kind` is what the text may name."""
    if STUDY_ID.fullmatch(text):
        try:
            return client.study(text)
        except NotFound:
            pass  # the text may be another study's name
    studies = list(client.studies())
    named = [study for study in studies if study.name == text]
    if not named:
        others = did_you_mean(
            text,
            [study.name for study in studies],
            "; bentham study list shows the existing studies",
        )
        raise NotFound(f"there is no {kind} {text!r}{others}", 404)
    if len(named) > 1:
        ids = ", ".join(study.id for study in named[:4])
        raise InvalidInput(f"{len(named)} studies are named {text!r}; use the id instead: {ids}")
    return named[0]


def confirm(question: str, yes: bool) -> None:
    """Ask for confirmation before an action that cannot be undone."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("this cannot be undone; add --yes to confirm")
    typer.confirm(question, abort=True, err=True)
