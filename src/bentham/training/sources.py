"""Datasets by name: those that come with scikit-learn, and those that it can download.

`sklearn:digits` is available on every machine, with the same bytes. `sklearn:california_housing`
and `openml:credit-g` (or its number, `openml:31`) are downloaded by an operator or a user, who then
uploads them; the service downloads nothing for its tenants.
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
SECONDS = 10.0  # timeout of a download that receives nothing
OPENML_NAME = re.compile(r"[A-Za-z0-9][\w.()+-]{0,199}", re.ASCII)  # becomes part of a URL


@dataclass(frozen=True, slots=True)
class Fetched:
    """A dataset in the form of an upload, and the column that is usually predicted."""

    name: str
    content: bytes
    format: Format
    target: str


def fetch(text: str) -> Fetched:
    """Return the dataset with a name such as `sklearn:digits`, `openml:61` or `openml:credit-g`."""
    source, _, name = text.partition(":")
    if source == "sklearn" and name in BUNDLED:
        return _bundled(name)
    if source == "sklearn" and name in DOWNLOADED:
        return _downloaded(name)
    if source == "openml" and OPENML_NAME.fullmatch(name):
        return _openml(name)
    raise InvalidInput(
        f"there is no dataset {text[:200]!r}; choose one of {KNOWN}, or one of OpenML by name "
        "or number, such as openml:credit-g or openml:31, or name a file"
    )


def _bundled(name: str) -> Fetched:
    from sklearn import datasets

    # Unscaled: the last digit of scaled values of `diabetes` depends on the machine.
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

    query = {"data_id": int(name)} if name.isdecimal() else {"name": name}
    with _network(f"openml:{name}"):
        bunch = fetch_openml(**query, as_frame=True, cache=False, n_retries=1, delay=0.5)
    targets = list(bunch.target_names or [])
    if len(targets) != 1:
        raise InvalidInput(
            f"openml:{name} has {len(targets)} targets, but exactly one is required; download it, "
            "then upload it as a file and name the target"
        )
    return Fetched(str(bunch.details["name"]), _as_csv(bunch.frame), "csv", str(targets[0]))


@contextmanager
def _network(name: str) -> Iterator[None]:
    """Stop a download that stalls, and raise a clear error if one fails."""
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each attempt warns, but only the outcome matters
            yield
    except (OSError, ValueError, LookupError, HTTPException) as error:
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:150]
        raise InvalidInput(
            f"{name} could not be fetched ({detail}); check the name and the network connection, "
            f"or use one that needs no network: {', '.join(f'sklearn:{n}' for n in BUNDLED)}"
        ) from None
    finally:
        socket.setdefaulttimeout(previous)


def _as_csv(table: "pd.DataFrame") -> bytes:
    """Write numbers with the fewest exact digits, so that the bytes are the same everywhere."""
    whole = [
        name
        for name in table.columns
        if table[name].dtype.kind == "f"
        and (table[name] % 1 == 0).all()
        and (table[name].abs() < 2**53).all()  # larger floats are whole, but not exact
    ]
    text = io.StringIO(newline="")
    table.astype(dict.fromkeys(whole, "int64")).to_csv(text, index=False, lineterminator="\n")
    return text.getvalue().encode()
