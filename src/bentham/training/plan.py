"""Makes the training plan of a study: everything a score depends on, except the model.

The plan is computed from the counts of the inspection, never from the data itself. So a server can
do it at once, and reject a study that could not train.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from unicodedata import combining, normalize

from bentham.errors import InvalidInput
from bentham.training.dataset import (
    CATEGORIES,
    DATE_PARTS,
    DATES,
    NUMERIC,
    ColumnSummary,
    ColumnType,
    DataFile,
)
from bentham.training.metrics import (
    METRICS,
    baseline,
    default_metric,
    metric_named,
    nearest_metric,
)
from bentham.training.target import as_read, check_spellings
from bentham.training.training_plan import (
    NAMED_YES,
    PlanRequest,
    RowSplit,
    SplitRequest,
    Task,
    TrainingPlan,
)
from bentham.training.words import YES, means_yes, spelling
from bentham.wording import counted, did_you_mean

MOST_CLASSES = 100
FEW_VALUES = 20  # up to this number of distinct whole numbers are treated as classes
LARGE = 2000  # from this number of rows on, one share is held out instead of each fold in turn
LEAST_HELD_OUT = 2  # rows; fewer are meaningless
MOST_NOTES = 20
SHOWN_COLUMNS = 5
# Below this share, relative to classes of equal size, the rarest class is too rare for accuracy.
BALANCED = 0.4
SHOWN_CLASSES = 6
PUNCTUATION = re.compile(r"(?<=\w)-(?=\w)|[\s_.,;:'\"!?()/]")  # but the signs in A+ and A- matter
RARE, SHORTEST_TYPED = 0.2, 4  # a typing error is much rarer than the right word, and not short
AFFIRMATIVE = (*YES, "positive", "pos")


def plan(dataset: DataFile, request: PlanRequest) -> TrainingPlan:
    """Determine task, columns, metric and split; raise, with the reason, if that is impossible."""
    columns = {column.name: column for column in dataset.columns}
    _check_known([request.target], columns, "target", dataset)
    _check_known(request.types, columns, "types", dataset)
    target, task, notes = columns[request.target], request.task, []
    reads = _type_of(target, request)
    if reads == "ignored" and target.name in request.types:
        raise InvalidInput(f"types: {target.name!r} is the target, which cannot be ignored")
    if reads in DATES:
        raise InvalidInput(
            f"target: {target.name!r} holds dates or times, which cannot be predicted; upload "
            "it as a number, such as the days until then, or choose another column"
        )
    check_spellings(target, reads)
    if task is None:
        task, note = _inferred_task(target, request, dataset.rows)
        notes.append(note)
    _check_target(target, task, dataset.rows - target.missing + target.unread)
    read = as_read(target, reads, task, dataset.rows)
    target = read.counts
    rows = dataset.rows - target.missing
    _check_target(target, task, rows)
    is_noted = target.type in ("any-spelling", "yes-no") or (
        # As classes, values that are not numbers do not count as missing.
        target.type in NUMERIC and (task == "regression" or columns[target.name].unread == 0)
    )
    if target.note and is_noted:
        # Merged spellings of the target cannot be kept apart, see above.
        advice = "; set its type to category" if target.type == "any-spelling" else "\n"
        notes.append(f"{target.name!r}: {target.note.partition(advice)[0]}")
    shares = _class_shares(target) if task == "classification" else []
    metric = _metric(request.metric, task, shares)
    positive = _positive(shares) if metric == "average-precision" else None
    notes += [
        *_class_notes(target, shares, positive),
        *_alike_notes(shares),
    ]
    notes += _leakage_notes(target)
    notes += read.notes
    if empty := target.missing - target.unread:
        are, without = "is" if empty == 1 else "are", counted(empty, "row")
        notes.append(f"{without} without a value of {target.name!r} {are} not used")
    types = {name: _type_of(columns[name], request) for name in columns if name != target.name}
    used: dict[str, ColumnType] = {name: kind for name, kind in types.items() if kind != "ignored"}
    if not used:
        raise InvalidInput(
            f"no column is left to learn {target.name!r} from; set the type of one, for example "
            f"{next(iter(types), 'column')!r}: 'category'"
        )
    _check_date_parts(used)
    if request.metric is None and metric != default_metric(task, 0, True):
        notes.append(
            f"the metric is {metric}, since one class is rare: accuracy would be high for a model "
            "that never predicts it"
        )
    split, note = _split(request.split, target, task, rows)
    notes += [note, *_column_notes(columns, types, request)]
    return TrainingPlan(
        dataset=dataset.id, name=dataset.name, hash=dataset.hash, format=dataset.format,
        delimiter=dataset.delimiter, bytes=dataset.bytes, target=target.name, task=task,
        metric=metric,
        classes=target.distinct if task == "classification" else 0,
        columns=used, split=split, reads=reads if reads != "ignored" else None,
        positive=NAMED_YES if read.named else positive,
        baseline=baseline(metric, [share for _, share in shares], dict(shares).get(positive or "")),
        notes=_limited(filter(None, notes)),
    )  # fmt: skip


def _check_known(
    names: Iterable[str], columns: dict[str, ColumnSummary], field: str, dataset: DataFile
) -> None:
    for name in names:
        if name not in columns:
            first = ", ".join(map(repr, islice(columns, SHOWN_COLUMNS)))
            more = f" and {len(columns) - SHOWN_COLUMNS:,} more" * (len(columns) > SHOWN_COLUMNS)
            others = did_you_mean(name, columns, f"; it has {first}{more}")
            raise InvalidInput(f"{field}: {dataset.name!r} has no column {name!r}{others}")


def _inferred_task(target: ColumnSummary, request: PlanRequest, rows: int) -> tuple[Task, str]:
    task: Task
    declared = request.types.get(target.name)
    if (
        declared == "category"
        or (declared is None and (target.type in (*CATEGORIES, "yes-no") or not target.numeric))
        or declared in ("any-spelling", "yes-no")
    ):
        holds = "yes and no" if (declared or target.type) == "yes-no" else "categories"
        task, why = "classification", f"{target.name!r} holds {holds}"
    elif declared in ("number", "decimal-comma") or not target.whole:
        task, why = "regression", f"{target.name!r} holds numbers"
    elif target.distinct <= FEW_VALUES and target.distinct * 2 <= rows:
        task, why = "classification", f"{target.name!r} holds {target.distinct} whole numbers"
    else:
        task, why = "regression", f"{target.name!r} holds many whole numbers"
    if not target.numeric:
        return task, f"{task}, since {why}"
    other = "regression" if task == "classification" else "classification"
    return task, f"{task}, since {why}; set the task to {other} to override this"


def _check_target(target: ColumnSummary, task: Task, rows: int) -> None:
    name = repr(target.name)
    if rows == 0:
        raise InvalidInput(f"target: every value of {name} is missing; choose another column")
    if target.distinct == 0:
        raise InvalidInput(f"target: {name} is {target.note}; choose another column")
    if target.distinct == 1:
        raise InvalidInput(
            f"target: {name} has only one value, so there is nothing to predict; choose another "
            "column, or add rows with other values"
        )
    if task == "regression":
        if not target.numeric:
            raise InvalidInput(
                f"target: {name} does not hold numbers, which regression needs; set the task to "
                "classification, or choose another column"
            )
        return
    if target.distinct > MOST_CLASSES:
        remedy = "set the task to regression" if target.numeric else "group them into fewer"
        raise InvalidInput(
            f"target: {name} has {target.distinct:,} distinct values, too many for classification "
            f"(at most {MOST_CLASSES} are allowed); {remedy}, or choose another column"
        )
    if target.singles:
        raise InvalidInput(
            f"target: {target.singles} of the {target.distinct} classes of {name} "
            f"{'has' if target.singles == 1 else 'have'} only one row, which cannot be both "
            "learned from and held out; add rows, merge rare classes, or leave them out"
        )


def _class_shares(target: ColumnSummary) -> list[tuple[str, float]]:
    """Return the classes with their shares of the rows, the largest first; none if not all known.

    Files that an older version inspected have no counts.
    """
    total = sum(count for _, count in target.values)
    if len(target.values) != target.distinct or total == 0:
        return []
    return [(name, count / total) for name, count in target.values]


def _positive(shares: Sequence[tuple[str, float]]) -> str | None:
    """Return the class that average precision is about: yes rather than no, else the rarer."""
    if len(shares) != 2:
        return None
    affirmative = [name for name, _ in shares if name.lower() in AFFIRMATIVE]
    return affirmative[0] if len(affirmative) == 1 else shares[-1][0]


def _class_notes(
    target: ColumnSummary, shares: Sequence[tuple[str, float]], positive: str | None
) -> list[str]:
    if not shares:
        return []
    counts = [f"{name!r} ({count:,})" for name, count in target.values[:SHOWN_CLASSES]]
    more = f" and {len(shares) - SHOWN_CLASSES} more" if len(shares) > SHOWN_CLASSES else ""
    looking = f"; average precision is about {positive!r}" if positive else ""
    return [f"{len(shares)} classes: {', '.join(counts)}{more}{looking}"]


def _alike_notes(shares: Sequence[tuple[str, float]]) -> list[str]:
    """Return a note on classes that may be the same one: they are not merged.

    Their letters are the same, both mean yes or no, or a rare class is one typing error away from a
    frequent one.
    """
    alike = [
        f"{first!r} and {second!r}"
        for place, (first, share) in enumerate(shares)
        for second, other in shares[place + 1 :]
        if _letters(first) == _letters(second)
        or _answer_alike(first, second)
        or (other <= RARE * share and _typo(first, second))
    ]
    if not alike:
        return []
    return [
        f"warning: the classes {'; '.join(alike[:SHOWN_CLASSES])} look alike but are kept apart; "
        "if they mean the same, write them in the same way"
    ]


def _answer_alike(first: str, second: str) -> bool:
    """Whether both mean yes, or both mean no; single letters must begin the other, as in j and ja.

    Otherwise letters that name something else, such as F and N, would look alike.
    """
    first, second = sorted((spelling(first), spelling(second)), key=len)
    same = means_yes(first) is not None and means_yes(first) == means_yes(second)
    return same and (len(first) > 1 or second.startswith(first))


def _letters(name: str) -> str:
    plain = normalize("NFKD", name.casefold())
    if any(sign.isdigit() for sign in plain):
        return name  # 1.5 is not 15
    return PUNCTUATION.sub("", "".join(sign for sign in plain if not combining(sign))) or name


def _typo(first: str, second: str) -> bool:
    """Whether one letter was added, left out or changed, or two were swapped."""
    first, second = sorted((first.casefold(), second.casefold()), key=len)
    if len(first) < SHORTEST_TYPED or not (first + second).replace(" ", "").isalpha():
        return False
    same = next(
        (at for at, (one, two) in enumerate(zip(first, second, strict=False)) if one != two),
        len(first),
    )
    rests = (first[same:], second[same:])
    swapped = rests[0][:2] == rests[1][:2][::-1] and rests[0][2:] == rests[1][2:]
    return rests[0] == rests[1][1:] or rests[0][1:] == rests[1][1:] or swapped


def _leakage_notes(target: ColumnSummary) -> list[str]:
    if not target.predictors:
        return []
    names = ", ".join(map(repr, target.predictors))
    one = len(target.predictors) == 1
    return [
        f"warning: {names} alone {'predicts' if one else 'predict'} {target.name!r} almost "
        f"perfectly; if {'it is' if one else 'they are'} known only afterwards, set "
        f"{'its type' if one else 'their types'} to ignored"
    ]


def _check_date_parts(columns: dict[str, ColumnType]) -> None:
    """Raise if a part of a date has the name of another column."""
    for name, kind in columns.items():
        for part in DATE_PARTS if kind in DATES else ():
            if f"{name} ({part})" in columns:
                raise InvalidInput(
                    f"types: a part of the date {name!r} would have the name of the column "
                    f"{f'{name} ({part})'!r}; ignore one of the two"
                )


def _type_of(column: ColumnSummary, request: PlanRequest) -> ColumnType:
    declared = request.types.get(column.name)
    if declared is None:
        return column.type
    if declared in ("number", "decimal-comma") and not column.numeric:
        raise InvalidInput(
            f"types: column {column.name!r} does not hold numbers; make it a category, or ignore it"
        )
    if declared in CATEGORIES and column.distinct == 0:
        raise InvalidInput(
            f"types: column {column.name!r} holds no values that can be categories; ignore it"
        )
    return declared


def _metric(name: str | None, task: Task, shares: Sequence[tuple[str, float]]) -> str:
    if name is None:
        rarest = min((share for _, share in shares), default=0.0)
        return default_metric(task, len(shares), rarest * len(shares) >= BALANCED or not shares)
    valid = ", ".join(each.name for each in METRICS.values() if each.task == task)
    known = metric_named(name)
    if known is None:
        others = nearest_metric(name) or f"; for {task} choose one of {valid}"
        raise InvalidInput(f"metric: {name!r} is unknown{others}")
    if known.task != task:
        raise InvalidInput(
            f"metric: {known.name} is for {known.task}, but this is {task}; choose one of {valid}, "
            f"or set the task to {known.task}"
        )
    return known.name


def _split(
    request: SplitRequest, target: ColumnSummary, task: Task, rows: int
) -> tuple[RowSplit, str]:
    """Determine how rows are held out. In classification every part needs rows of every class."""
    kind = request.kind or ("folds" if rows < LARGE else "holdout")
    most = min(rows // 2, target.rarest if task == "classification" else rows)
    folds, share, note = request.folds, request.share, ""
    if kind == "folds" and folds > most:
        if most < 2:
            raise InvalidInput(_too_few(rows))
        folds = most
        reason = f"the rarest class has {most}" if task == "classification" else f"there are {rows}"
        note = f"{folds} folds instead of {request.folds}, since {reason} rows"
    if kind == "holdout":
        held = int(rows * share)
        least = max(LEAST_HELD_OUT, target.distinct if task == "classification" else 0)
        if min(held, rows - held) < least:
            raise InvalidInput(
                f"split: {held} of {rows} rows would be held out, but each part needs at least "
                f"{least} rows; change the share, or use folds"
                if rows >= 2 * least
                else _too_few(rows)
            )
    # Unused fields get their default values, so that equal splits share their trials.
    defaults = SplitRequest()
    if kind == "folds":
        return RowSplit(kind=kind, folds=folds, share=defaults.share, seed=request.seed), note
    return RowSplit(kind=kind, folds=defaults.folds, share=share, seed=request.seed), note


def _too_few(rows: int) -> str:
    return (
        f"split: {rows} rows with a target are too few to hold some out of every class; add rows, "
        "or merge classes"
    )


def _column_notes(
    columns: dict[str, ColumnSummary], types: dict[str, ColumnType], request: PlanRequest
) -> list[str]:
    """Return the notes on columns in use, and a note on those that are left out."""
    notes = [
        f"{name!r}: {columns[name].note}"
        for name, kind in types.items()
        if columns[name].note and kind != "ignored" and name not in request.types
    ]
    unused = [
        name for name, kind in types.items() if kind == "ignored" and name not in request.types
    ]
    if unused:
        shown = ", ".join(map(repr, unused[:5])) + (" and more" if len(unused) > 5 else "")
        many = len(unused) > 1
        notes.append(
            f"{counted(len(unused), 'column')} {'are' if many else 'is'} left out: {shown}; set "
            f"{'their types to use them' if many else 'its type to use it'}"
        )
    return notes


def _limited(notes: Iterable[str]) -> list[str]:
    found = list(notes)
    if len(found) <= MOST_NOTES:
        return found
    kept = found[: MOST_NOTES - 1]
    return [*kept, f"{len(found) - len(kept)} more notes are with the columns of the dataset"]
