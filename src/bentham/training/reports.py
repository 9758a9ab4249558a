"""Reports that a trial prints as lines of JSON.

`{"score": 0.91}` is a score; the last one counts. `{"progress": 0.4, "score": 0.88}` reports
progress with a score so far, and `"metrics": {"rmse": 53.2}` adds other metrics. All other lines
are plain output.
"""

import json
import math
from dataclasses import dataclass, field

LONGEST_LINE = 65536
LONGEST_NAME, MOST_METRICS = 200, 50


@dataclass(frozen=True)
class Report:
    """One report of a trial. The score may be NaN or infinite: the reader has to reject that."""

    score: float | None = None
    progress: float | None = None  # from 0 to 1
    metrics: dict[str, float] = field(default_factory=dict)

    def line(self) -> str:
        """Return the report as a line that `read_report` reads."""
        fields = {"score": self.score, "progress": self.progress, "metrics": self.metrics or None}
        return json.dumps({name: value for name, value in fields.items() if value is not None})


def read_report(line: str | bytes) -> Report | None:
    """Return the report in a line of output, None if it is not a report."""
    line = line.strip()
    if len(line) > LONGEST_LINE:
        return None
    try:
        text = line.decode() if isinstance(line, bytes) else line
        payload = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(payload, dict):
        return None
    score, progress = _number(payload.get("score")), _number(payload.get("progress"))
    if progress is not None and not 0.0 <= progress <= 1.0:
        progress = None
    if score is None and progress is None:
        return None
    return Report(score, progress, _metrics(payload.get("metrics")))


def _number(value: object) -> float | None:
    """Return a number as a float, infinite if it is too large; None for `true` and non-numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _metrics(values: object) -> dict[str, float]:
    """Return the metrics that can be stored; invalid ones are dropped, since the score counts."""
    found: dict[str, float] = {}
    for name, value in values.items() if isinstance(values, dict) else ():
        number = _number(value)
        plain = name.isprintable() and 0 < len(name.strip()) <= len(name) <= LONGEST_NAME
        if plain and number is not None and math.isfinite(number) and len(found) < MOST_METRICS:
            found[name] = number
    return found
