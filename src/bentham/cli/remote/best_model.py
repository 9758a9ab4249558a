"""A look at the best model of a study, rendered for the terminal: the essentials, in 80 columns."""

from typing import TYPE_CHECKING

from rich.console import RenderableType

from bentham.cli.remote.formatting import cell, fields, figures, grid

if TYPE_CHECKING:
    from bentham.wire import BestModel, ModelLook

MOST_CLASSES, MOST_COLUMNS = 5, 8


def best_page(best: "BestModel") -> list[RenderableType]:
    """Render what is known of a study's best model; nothing if no trial has looked at it."""
    parts: list[RenderableType] = []
    if best.look is not None:
        parts = [*_errors(best.look), *_residuals(best.look), *_importance(best.look)]
    if best.fitted is not None:
        state = best.fitted.state + (f": {best.fitted.reason}" if best.fitted.reason else "")
        parts.append(fields([("fitted model", f"{best.fitted.model}, {state}")]))
    return parts


def _errors(look: "ModelLook") -> list[RenderableType]:
    """Render the confusion matrix of a few classes; of many, how often each is recognised."""
    confusion = look.confusion
    if confusion is None:
        return []
    names = [*confusion.classes, *(["other classes"] if confusion.merged else [])]
    head = f"Best model, {look.rows:,} held-out rows:"
    if len(names) <= MOST_CLASSES:
        table = grid(["~true class", *(f">as {name[:12]}" for name in names)])
        for name, row in zip(names, confusion.counts, strict=True):
            table.add_row(name, *(f"{count:,}" for count in row))
        return [head, table]
    table = grid(["~class", ">rows", ">recognised", "~most often taken for"])
    worst = sorted(
        (count / max(1, sum(row)), at) for at, row in enumerate(confusion.counts)
        for count in [row[at]] if sum(row)
    )  # fmt: skip
    for share, at in worst[:MOST_COLUMNS]:
        row = confusion.counts[at]
        errors = {other: count for other, count in enumerate(row) if other != at and count}
        most = max(errors, key=lambda other: errors[other]) if errors else None
        table.add_row(
            names[at], f"{sum(row):,}", f"{100 * share:.0f} %",
            "-" if most is None else names[most],
        )  # fmt: skip
    return [f"{head} the {len(worst[:MOST_COLUMNS])} classes with most errors", table]


def _residuals(look: "ModelLook") -> list[RenderableType]:
    if look.residuals is None:
        return []
    table = grid([">share of rows", figures("prediction minus truth, at most")])
    for level, value in look.residuals.quantiles:
        table.add_row(f"{100 * level:g} %", value)
    return [f"Best model, {look.rows:,} held-out rows:", table]


def _importance(look: "ModelLook") -> list[RenderableType]:
    found = look.importance
    if found is None or not found.columns:
        return []
    table = grid(["~column", figures("score falls by"), figures("from"), figures("to")])
    for name, *falls in found.columns[:MOST_COLUMNS]:
        table.add_row(name, *falls)
    more = len(found.columns) - MOST_COLUMNS + found.omitted
    notes = [f"{more:,} further columns matter less"] if more > 0 else []
    if found.unmeasured_count:
        listed = ", ".join(found.unmeasured[:3])
        notes.append(f"there was no time for {found.unmeasured_count:,}, such as {listed}")
    parts: list[RenderableType] = ["If the values of one column are shuffled:", table]
    return [*parts, cell(f"({'; '.join(notes)})")] if notes else parts
