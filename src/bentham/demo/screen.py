"""The live view of the demo: 80 columns, and lines enough for 14 studies in a small terminal."""

import statistics
from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text

from bentham.demo.look import Look
from bentham.wire import Study, Trial

WIDTH = 80
MARKS = "▁▂▃▄▅▆▇█"
BAR, TRIALS, CURVE = 24, 20, 24  # characters
BETTER, PLAIN, FAINT, ACCENT = "bold green", "cyan", "bright_black", "bold"


class Screen:
    """Makes pictures of looks; remembers how the believed regret fell."""

    def __init__(self, address: str):
        self._address = address
        self._regret: list[float] = []

    def picture(self, look: Look) -> RenderableType:
        """What there is to see."""
        self._regret.append(look.overview.regret_estimate)
        return Group(
            self._head(look),
            _studies(look),
            Rule(style=FAINT),
            _devices(look),
            self._foot(look),
        )

    def _head(self, look: Look) -> RenderableType:
        tenants = len({study.tenant for study in look.studies})
        left = Text.assemble(
            ("Bentham", "bold magenta"),
            f"  {len(look.studies)} studies of {tenants} tenants",
        )
        line = Grid.grid(expand=True)
        line.add_column()
        line.add_column(justify="right")
        line.add_row(left, Text(f"{self._address}  {clock(look.seconds)}", style=FAINT))
        return line

    def _foot(self, look: Look) -> RenderableType:
        done = look.tried / max(1, look.models)
        line = Grid.grid(expand=True, padding=(0, 1))
        line.add_column(style=FAINT, width=10)
        line.add_column(width=BAR)
        line.add_column()
        line.add_row("trained", bar(done), Text(f"{look.tried} of {look.models} models"))
        line.add_row(
            "regret",
            Text(curve(self._regret), style=PLAIN),
            Text(f"{look.overview.regret_estimate:.4f} still to gain a study, as believed"),
        )
        return line


def _studies(look: Look) -> RenderableType:
    grid = Grid(box=box.SIMPLE_HEAD, expand=True, padding=(0, 1, 0, 0), show_edge=False)
    grid.add_column("tenant", width=11, no_wrap=True, style=FAINT)
    grid.add_column("study", width=15, no_wrap=True)
    grid.add_column("scores as they came", width=TRIALS, no_wrap=True)
    grid.add_column("tried", width=5, justify="right", style=FAINT)
    grid.add_column("best", width=6, justify="right")
    grid.add_column("model", no_wrap=True, overflow="ellipsis")
    before = ""
    for study in look.studies:
        best = study.incumbent
        tried = study.models - study.untried - study.trials.running
        grid.add_row(
            study.tenant if study.tenant != before else "",
            study.name,
            marks(look.ended[study.id], study),
            f"{tried}/{study.models}",
            Text("-" if best is None else f"{best.score:.4f}", style=ACCENT),
            "" if best is None else best.model,
        )
        before = study.tenant
    return grid


def _devices(look: Look) -> RenderableType:
    names = {study.id: study.name for study in look.studies}
    grid = Grid.grid(expand=True, padding=(0, 1))
    grid.add_column(style=FAINT, width=10, no_wrap=True)
    grid.add_column(width=BAR)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    registered = look.overview.devices.registered if look.overview.devices else 0
    running = look.running
    for trial in running:
        taken = max(0.0, look.overview.time - trial.started)
        what = Text.assemble(
            (f"{names.get(trial.study, '')}: ", ACCENT),
            trial.model,
            (f"  {taken:.1f} of about {trial.cost:.1f} s", FAINT),
        )
        grid.add_row(trial.device, bar(taken / trial.cost), what)
    for _ in range(registered - len(running)):
        grid.add_row("", Text("idle", style=FAINT), "")
    return grid


def marks(trials: Sequence[Trial], study: Study) -> Text:
    """A mark for each trial as it ended, the higher the better; green where it was the best yet.

    The scale is the study's own: a middling score is a middling mark, and the best a full one.
    """
    scores = [trial.score for trial in trials if trial.score is not None]
    text = Text()
    if scores:
        best = max(scores)
        middling = statistics.median(best - score for score in scores) or 1e-9
        so_far = float("-inf")
        for score in scores:
            height = max(0.0, 1.0 - (best - score) / (2.0 * middling))
            text.append(
                MARKS[round(height * (len(MARKS) - 1))], BETTER if score > so_far else PLAIN
            )
            so_far = max(so_far, score)
    text.append("·" * max(0, study.models - len(scores)), FAINT)
    # More than fit: the first ones tell the story, since the best come early.
    if len(text) > TRIALS:
        text.truncate(TRIALS, overflow="ellipsis")
    return text


def bar(share: float) -> Text:
    """A bar that is full at 1."""
    full = round(min(1.0, max(0.0, share)) * BAR)
    return Text.assemble(("━" * full, BETTER), ("━" * (BAR - full), FAINT))


def curve(values: Sequence[float]) -> str:
    """How a figure went, from the first value to the last."""
    if not values:
        return ""
    count = min(CURVE, len(values))
    chosen = [values[(len(values) - 1) * place // max(1, count - 1)] for place in range(count)]
    top = max(max(chosen), 1e-9)
    return "".join(MARKS[round(max(0.0, value) / top * (len(MARKS) - 1))] for value in chosen)


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
