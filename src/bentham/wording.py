"""Parts of messages: suggestions for misspelt names, and counts with their nouns."""

import re
from collections.abc import Iterable
from itertools import islice

# Names that are compared, and how much of each: the time for it is limited.
MOST_COMPARED, LONGEST_COMPARED = 200, 60
MOST_SUGGESTED, LEAST_SIMILAR = 3, 0.6
MOST_LIKEWISE = 2  # notes of one kind
MOST_LISTED = 12  # values; of more, only similar ones are named, if there are any
VALUES = re.compile(r"'[^']*'|\"[^\"]*\"|-?\d[\d.,e+-]*")


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the end of a message about an unknown name: similar known ones, else `otherwise`.

    Upper and lower case, spaces, hyphens and underscores make no difference. The caller must be
    allowed to see the known names.
    """
    # Imported here, since most names are right.
    from difflib import get_close_matches

    names = {_plain(each): each for each in islice(known, MOST_COMPARED)}
    close = get_close_matches(_plain(name), names, MOST_SUGGESTED, LEAST_SIMILAR)
    if not close:
        return otherwise
    return f"; did you mean {' or '.join(repr(names[each]) for each in close)}?"


def choose(given: str, allowed: Iterable[str]) -> str:
    """Return the end of a message about a value that is not allowed: the allowed and similar ones.

    All enumerations are refused with it, so that a misspelt value always gets a suggestion.
    """
    values = list(allowed)
    meant = did_you_mean(given, values)
    if meant and len(values) > MOST_LISTED:
        return meant.removeprefix("; ")
    *first, last = map(repr, values)
    listed = f"{', '.join(first)} or {last}" if first else last
    return f"choose {listed}{meant}"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def likewise(notes: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the first notes of each kind, with their columns; the last says how many are alike.

    Notes are of one kind if they differ only in quoted values and in numbers.
    """
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name, note in notes:
        kinds.setdefault(VALUES.sub("0", note), []).append((name, note))
    found = []
    for each in kinds.values():
        shown = each if len(each) <= MOST_LIKEWISE + 1 else each[:MOST_LIKEWISE]
        if more := len(each) - len(shown):
            name, note = shown[-1]
            shown = [*shown[:-1], (name, f"{note} ({more:,} other columns have a note like this)")]
        found += shown
    return found


def short_number(value: float) -> str:
    """Format a number with three significant digits, as the dashboard does."""
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e6 else f"{value:.3g}"


def short_span(seconds: float) -> str:
    """Format a duration as the dashboard does."""
    if seconds < 1.0:
        unit, name = (1e-3, "ms") if seconds >= 1e-3 else (1e-6, "µs")
        return f"{float(f'{seconds / unit:.2g}'):g} {name}"
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 10.0 else f"{seconds:.0f} s"
    if seconds < 599.5:
        return _pair(round(seconds), 60, "min", "s")
    minutes = round(seconds / 60.0)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return _pair(minutes, 60, "h", "min")
    return _pair(round(minutes / 60.0), 24, "d", "h")


def _pair(count: int, base: int, large: str, small: str) -> str:
    whole, rest = divmod(count, base)
    return f"{whole:,} {large}" + (f" {rest} {small}" if rest else "")


def _plain(name: str) -> str:
    return name[:LONGEST_COMPARED].lower().replace("_", "-").replace(" ", "-")
