"""What the counts of a target are once it is read as declared: those of what is trained."""

from typing import NamedTuple

from bentham.errors import InvalidInput
from bentham.training.dataset import CATEGORIES, ColumnSummary, ColumnType
from bentham.training.training_plan import NAMED_NO, NAMED_YES, Task
from bentham.training.words import means_yes, spelling
from bentham.wording import counted

SHOWN = 3


class Target(NamedTuple):
    """A target as it will be read; `named` if its classes are named yes and no, not as written."""

    counts: ColumnSummary
    notes: tuple[str, ...] = ()  # on rows that are left out
    named: bool = False


def check_spellings(target: ColumnSummary, reads: ColumnType) -> None:
    """Raise if spellings that the inspection merged are to be kept apart."""
    merged = target.type == "any-spelling" or (target.type == "yes-no" and target.note)
    if merged and reads in CATEGORIES and reads != target.type:
        raise InvalidInput(
            f"types: values of the target {target.name!r} that differ only in spelling are merged; "
            "to keep them apart, write them differently in the file"
        )


def as_read(target: ColumnSummary, reads: ColumnType, task: Task, rows: int) -> Target:
    """Return the target with the counts it has as it will be read."""
    if task == "regression":
        return _numbers(target, rows)
    if reads == "yes-no":
        return _yes_no(target)
    if reads == "any-spelling" and target.type != "any-spelling":
        merged: dict[str, int] = {}
        names: dict[str, str] = {}
        for text, count in _known_values(target, reads):
            name = names.setdefault(spelling(text), text)  # the most frequent comes first
            merged[name] = merged.get(name, 0) + count
        return Target(_with_classes(target, merged, target.missing))
    # Classes are texts, also those that are not numbers in a column of numbers.
    present = {"missing": target.missing - target.unread, "unread": 0}
    return Target(target.model_copy(update=present))


def _numbers(target: ColumnSummary, rows: int) -> Target:
    if target.numbers is None:  # the file was inspected by an older version
        return Target(target)
    missing = rows - target.numbers
    if missing == target.missing:
        return Target(target)
    others = missing - target.missing + target.unread
    note = (
        f"{counted(others, 'row')} whose value of {target.name!r} is not a number "
        f"{'is' if others == 1 else 'are'} not used"
    )
    return Target(target.model_copy(update={"missing": missing, "unread": others}), (note,))


def _yes_no(target: ColumnSummary) -> Target:
    read: dict[bool, dict[str, int]] = {True: {}, False: {}}
    others: list[tuple[str, int]] = []
    for text, count in _known_values(target, "yes-no"):
        answer = means_yes(text)
        if answer is None:
            others.append((text, count))
        else:
            read[answer][text] = count
    if not read[True] or not read[False]:
        what = "all values mean the same if" if any(read.values()) else "no value can be"
        raise InvalidInput(
            f"types: {what} read as yes or no in the target {target.name!r}, so there is nothing "
            "to predict; choose another type for it"
        )
    spelled = any(len(spellings) > 1 for spellings in read.values())
    # A file that an older version inspected has a note if its spellings are merged.
    named = spelled or (target.type == "yes-no" and bool(target.note))
    classes = {
        (NAMED_YES if answer else NAMED_NO) if named else next(iter(spellings)): sum(
            spellings.values()
        )
        for answer, spellings in read.items()
    }
    lost = sum(count for _, count in others)
    missing = target.missing - target.unread + lost
    found = _with_classes(target, classes, missing).model_copy(update={"unread": lost})
    if not lost:
        return Target(found, named=named)
    shown = ", ".join(f"{text!r} ({count:,})" for text, count in others[:SHOWN])
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    note = (
        f"{counted(lost, 'row')} whose value of {target.name!r} is neither yes nor no "
        f"{'is' if lost == 1 else 'are'} not used: {shown}{more}"
    )
    return Target(found, (note,), named)


def _known_values(target: ColumnSummary, reads: ColumnType) -> list[tuple[str, int]]:
    """Return all values with their numbers of rows; raise if some are not known."""
    if len(target.values) < target.distinct:
        raise InvalidInput(
            f"types: the target {target.name!r} has {target.distinct:,} distinct values, too many "
            f"to tell which classes {reads} makes of them; correct them in the file, or choose "
            "another type"
        )
    return target.values


def _with_classes(target: ColumnSummary, classes: dict[str, int], missing: int) -> ColumnSummary:
    values = sorted(classes.items(), key=lambda each: -each[1])
    return target.model_copy(
        update={
            "missing": missing,
            "distinct": len(values),
            "rarest": min(classes.values()),
            "singles": sum(count == 1 for count in classes.values()),
            "values": values,
        }
    )
