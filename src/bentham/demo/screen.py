"""The live view of the demo: 80 columns wide; 14 studies fit in a small terminal."""

import math
import statistics
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from bentham.demo.look import RunProgress
from bentham.terminal import ACCENT, BAR, FAINT, FULL, bar, idle_line, line, trial_line
from bentham.wire import StudyView, TrialView
from bentham.wording import counted

WIDTH = 80
MARKS = "▁▂▃▄▅▆▇█"
TRIALS = 16  # characters
COLUMNS = (11, 15, TRIALS, 5, 6, 22)
DEVICE = 11
TEXT_WIDTH = WIDTH - DEVICE - BAR - 2
PLAIN = "cyan"


class Screen:
    """Renders the state of the run; remembers the estimated regret over time."""

    def __init__(self, address: str):
        self._address = address
        self._regret: list[float] = []

    def picture(self, progress: RunProgress) -> RenderableType:
        """Render the state of the run."""
        if progress.studies:  # before the first study there is no regret
            self._regret.append(progress.overview.regret_estimate)
        return Group(
            self._head(progress),
            Rule(style=FAINT),
            *_studies(progress),
            Rule(style=FAINT),
            *_devices(progress),
            *self._foot(progress),
        )

    def _head(self, progress: RunProgress) -> Text:
        tenants = len({study.tenant for study in progress.studies})
        studies = counted(len(progress.studies), "study", "studies")
        return line(
            (Text("Bentham", "bold magenta"), 8),
            (f"{studies} of {counted(tenants, 'tenant')}", WIDTH - 42),
            (Text(f"{self._address} {clock(progress.seconds):>6}", FAINT, justify="right"), 32),
        )

    def _foot(self, progress: RunProgress) -> list[Text]:
        estimate = f"{progress.overview.regret_estimate:.4f} (estimated mean over studies)"
        trained = bar(progress.tried / max(1, progress.models))
        return [
            line((Text("trained", FAINT), DEVICE), (trained, BAR), (_of(progress), TEXT_WIDTH)),
            line(
                (Text("regret", FAINT), DEVICE),
                (Text(curve(self._regret), PLAIN), BAR),
                (estimate, TEXT_WIDTH),
            ),
        ]


def _of(progress: RunProgress) -> str:
    return f"{progress.tried} of {progress.models} models"


def _studies(progress: RunProgress) -> list[Text]:
    names = ("tenant", "study", "scores over time", "tried", "  best", "model")
    lines = [line(*zip((Text(name, ACCENT) for name in names), COLUMNS, strict=True))]
    before = ""
    for study in progress.studies:
        best = study.incumbent
        cells: tuple[Text | str, ...] = (
            Text(study.tenant if study.tenant != before else "", FAINT),
            study.name,
            marks(progress.ended[study.id], study),
            Text(f"{study.tried:>2}/{study.models}", FAINT),
            Text("-" if best is None else f"{best.score:>6.4f}", ACCENT),
            "" if best is None else best.model,
        )
        lines.append(line(*zip(cells, COLUMNS, strict=True)))
        before = study.tenant
    return lines


def _devices(progress: RunProgress) -> list[Text]:
    names = {study.id: study.name for study in progress.studies}
    running = {trial.device: trial for trial in progress.running}
    lines = []
    for device in sorted({*progress.devices, *running}):
        trial = running.get(device)
        if trial is None:
            lines.append(idle_line(device, DEVICE))
        else:
            taken = max(0.0, progress.overview.time - trial.started)
            times = f"{taken:.1f} of about {trial.cost:.1f} s"
            study, widths = names.get(trial.study, ""), (DEVICE, BAR, TEXT_WIDTH)
            share = taken / trial.cost
            lines.append(trial_line(device, share, times, study, trial.model, widths))
    return lines


def marks(trials: Sequence[TrialView], study: StudyView) -> Text:
    """Return a mark per completed trial: the taller the better, green for a new best.

    The scale is relative to the study: the median score has half the height of the best.
    """
    scores = [trial.score for trial in trials if trial.score is not None]
    text = Text()
    if scores:
        best = max(scores)
        median_gap = statistics.median(best - score for score in scores) or 1e-9
        so_far = float("-inf")
        for score in scores:
            height = max(0.0, 1.0 - (best - score) / (2.0 * median_gap))
            text.append(MARKS[round(height * (len(MARKS) - 1))], FULL if score > so_far else PLAIN)
            so_far = max(so_far, score)
    text.append("·" * max(0, study.models - len(scores)), FAINT)
    # If there are too many, show the first ones, since the best models come early.
    if len(text) > TRIALS:
        text.truncate(TRIALS, overflow="ellipsis")
    return text


def curve(values: Sequence[float]) -> str:
    """Return a sparkline of the values, on a square-root scale so that small values show."""
    if not values:
        return ""
    count = min(BAR, len(values))
    chosen = [values[(len(values) - 1) * place // max(1, count - 1)] for place in range(count)]
    top = max(max(chosen), 1e-9)
    return "".join(
        MARKS[round(math.sqrt(max(0.0, value) / top) * (len(MARKS) - 1))] for value in chosen
    )


def clock(seconds: float) -> str:
    """Format seconds as minutes:seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
