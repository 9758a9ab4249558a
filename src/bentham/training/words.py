"""Texts that mean a missing value, yes or no: without pandas, which the service does not import."""

# Texts that stand for a missing value, in lower case.
MISSING = [
    "", "na", "n/a", "n.a.", "#n/a", "nan", "nat", "null", "none", "\\n", "?", ".", "-", "--",
    "\u2013", "\u2014", "(blank)", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!",
]  # fmt: skip
# In lower case, too.
YES = [
    "1", "yes", "y", "true", "t", "on", "ja", "j", "wahr", "oui", "vrai", "si", "sí", "verdadero",
    "vero", "sim", "verdadeiro", "tak", "да", "✓", "✔", "☑",
]  # fmt: skip
NO = [
    "0", "no", "n", "false", "f", "off", "nein", "falsch", "non", "faux", "falso", "nee", "nej",
    "não", "nao", "nie", "нет", "✗", "✘", "☐",
]  # fmt: skip


def spelling(text: str) -> str:
    """Return a text without what `any-spelling` ignores: upper case and the number of spaces."""
    return " ".join(text.lower().split())


def means_yes(text: str) -> bool | None:
    """Whether a text means yes rather than no; None if it means neither."""
    key = spelling(text)
    return True if key in YES else False if key in NO else None
