"""Datasets by name: those that come with scikit-learn, and those that it can download.

`sklearn:digits` is on every machine, and gives the same bytes on each. `sklearn:california_housing`
and `openml:credit-g` (or its number, `openml:31`) are fetched from the network, by an operator or
by a person who uploads them then; a service fetches nothing for its tenants.
"""

import io
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING

from bentham.errors import InvalidInput
from bentham.training.dataset import Format

if TYPE_CHECKING:
    import pandas as pd

BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")
DOWNLOADED = ("california_housing", "covtype")
KNOWN = ", ".join(f"sklearn:{name}" for name in (*BUNDLED, *DOWNLOADED))
TARGET = "target"
SECONDS = 10.0  # without a byte, after which a download is given up
OPENML_NAME = re.compile(r"[A-Za-z0-9][\w.()+-]{0,199}", re.ASCII)  # goes into an address


@dataclass(frozen=True, slots=True)
class Fetched:
    """A dataset as it would be uploaded, and the column that is usually predicted."""

    name: str
    content: bytes
    format: Format
    target: str


def fetch(text: str) -> Fetched:
    """The dataset of a name such as `sklearn:digits`, `openml:61` or `openml:credit-g`."""
    source, _, name = text.partition(":")
    if source == "sklearn" and name in BUNDLED:
        return _bundled(name)
    if source == "sklearn" and name in DOWNLOADED:
        return _downloaded(name)
    if source == "openml" and OPENML_NAME.fullmatch(name):
        return _openml(name)
    raise InvalidInput(
        f"there is no dataset {text[:200]!r}; choose one of {KNOWN}, or one of OpenML by name "
        "or number, as openml:credit-g or openml:31, or name a file"
    )


def _bundled(name: str) -> Fetched:
    from sklearn import datasets

    # In its own units: scaled, the values of `diabetes` hang on the machine in their last digit.
    options = {"scaled": False} if name == "diabetes" else {}
    bunch = getattr(datasets, f"load_{name}")(as_frame=True, **options)
    table, classes = bunch.frame, getattr(bunch, "target_names", None)
    if classes is not None and name != "digits":
        table[TARGET] = [str(classes[label]) for label in table[TARGET]]
    return Fetched(name, _as_csv(table), "csv", TARGET)


def _downloaded(name: str) -> Fetched:
    from sklearn import datasets

    with _network(f"sklearn:{name}"):
        bunch = getattr(datasets, f"fetch_{name}")(as_frame=True, n_retries=1, delay=0.5)
    return Fetched(name, _as_csv(bunch.frame), "csv", bunch.target_names[0])


def _openml(name: str) -> Fetched:
    from sklearn.datasets import fetch_openml

    wanted = {"data_id": int(name)} if name.isdecimal() else {"name": name}
    with _network(f"openml:{name}"):
        bunch = fetch_openml(**wanted, as_frame=True, cache=False, n_retries=1, delay=0.5)
    targets = list(bunch.target_names or [])
    if len(targets) != 1:
        raise InvalidInput(
            f"openml:{name} has {len(targets)} targets where one is needed; download it and upload "
            "it as a file, naming the target"
        )
    return Fetched(str(bunch.details["name"]), _as_csv(bunch.frame), "csv", str(targets[0]))


@contextmanager
def _network(what: str) -> Iterator[None]:
    """Give up a download that stalls, and say plainly why one failed."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of each attempt: the outcome is what matters
            yield
    except (OSError, ValueError, LookupError, HTTPException) as error:
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:150]
        raise InvalidInput(
            f"{what} could not be fetched ({detail}); check the name and that this machine reaches "
            f"the network, or use one that needs none: {', '.join(f'sklearn:{n}' for n in BUNDLED)}"
        ) from None
    finally:
        socket.setdefaulttimeout(before)


def _as_csv(table: "pd.DataFrame") -> bytes:
    """The shortest digits that give back each number, so that the bytes hang on no machine."""
    whole = [
        name
        for name in table.columns
        if table[name].dtype.kind == "f"
        and (table[name] % 1 == 0).all()
        and (table[name].abs() < 2**53).all()  # beyond that floats are whole, but not exact
    ]
    text = io.StringIO(newline="")
    table.astype(dict.fromkeys(whole, "int64")).to_csv(text, index=False, lineterminator="\n")
    return text.getvalue().encode()
