"""What a trial prints about itself: lines of JSON, from commands and from our own trials alike.

`{"score": 0.91}` is a score; the last one counts. On the way `{"progress": 0.4, "score": 0.88}`
says how far it is, and `"metrics": {"rmse": 53.2}` are other figures of it. Other lines are output.
"""

import json
import math
from dataclasses import dataclass, field

LONGEST_LINE = 65536
LONGEST_NAME, MOST_METRICS = 200, 50


@dataclass(frozen=True)
class Report:
    """A line of a trial. A score may be NaN or infinite: that is for the reader to refuse."""

    score: float | None = None
    progress: float | None = None  # from 0 to 1
    metrics: dict[str, float] = field(default_factory=dict)

    def line(self) -> str:
        """The report as the line that `read_report` reads."""
        said = {"score": self.score, "progress": self.progress, "metrics": self.metrics or None}
        return json.dumps({name: value for name, value in said.items() if value is not None})


def read_report(line: str | bytes) -> Report | None:
    """The report in a line of output; None if there is none in it."""
    line = line.strip()
    if len(line) > LONGEST_LINE:
        return None
    try:
        text = line.decode() if isinstance(line, bytes) else line
        said = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    score, progress = _number(said.get("score")), _number(said.get("progress"))
    if progress is not None and not 0.0 <= progress <= 1.0:
        progress = None
    if score is None and progress is None:
        return None
    return Report(score, progress, _metrics(said.get("metrics")))


def _number(value: object) -> float | None:
    """A number, however large; `true` is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _metrics(said: object) -> dict[str, float]:
    """The figures that can be stored; others are left out, they are not what a trial is for."""
    found: dict[str, float] = {}
    for name, value in said.items() if isinstance(said, dict) else ():
        number = _number(value)
        plain = name.isprintable() and 0 < len(name.strip()) <= len(name) <= LONGEST_NAME
        if plain and number is not None and math.isfinite(number) and len(found) < MOST_METRICS:
            found[name] = number
    return found
