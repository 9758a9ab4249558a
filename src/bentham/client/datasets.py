"""Calls for datasets, the catalogue, and the results of studies on datasets."""

from collections.abc import Iterator
from pathlib import Path

from bentham.client.answers import parse_answer
from bentham.client.calls import LONG, Calls
from bentham.client.connection import request_body, segment
from bentham.errors import InvalidInput
from bentham.file_kinds import HEAD, not_csv, not_parquet
from bentham.wire import (
    Algorithm,
    Costs,
    DatasetChange,
    DatasetView,
    Improvement,
    Metric,
    SessionView,
)
from bentham.wire.datasets import CONTENT_TYPES, Format

SURELY_ACCEPTED = 2**20  # bytes; no server has a smaller limit
PARQUET_SUFFIXES = (".parquet", ".pq")


class DataCalls(Calls):
    """Datasets, algorithms and metrics; scripts and learning records of studies."""

    def add_dataset(
        self,
        name: str,
        content: bytes | Path,
        format: Format | None = None,  # noqa: A002
        tenant: str | None = None,
    ) -> DatasetView:
        """Upload a table; uploading the same content under the same name again changes nothing.

        By default, a Path that ends in .parquet or .pq is Parquet and everything else CSV; `format`
        overrides this. A file that the server would refuse for its size or kind is not sent. With
        an admin token, `tenant` is the owner; without one, the dataset is shared with all tenants.
        """
        if format is None:
            is_parquet = isinstance(content, Path) and content.suffix.lower() in PARQUET_SUFFIXES
            format = "parquet" if is_parquet else "csv"  # noqa: A001
        data = self._checked(name, content, format)
        kind = next(kind for kind, each in CONTENT_TYPES.items() if each == format)
        reply = self._connection.send(
            "POST",
            "/v1/datasets",
            data,
            content_type=kind,
            parameters={"name": name, "tenant": tenant},
            timeout=max(LONG, self._connection.timeout),
        )
        return parse_answer(self.server, reply, DatasetView)

    def session(self) -> SessionView:
        """Return whose the token is, and the server's limit on uploads. For admins and tenants."""
        return self._get("/v1/session", SessionView)

    def _checked(self, name: str, content: bytes | Path, format: Format) -> bytes:  # noqa: A002
        """Return the content of a file; raise if the server would refuse it unread."""
        shown = repr(str(content) if isinstance(content, Path) else name)
        try:
            size = content.stat().st_size if isinstance(content, Path) else len(content)
            if size > SURELY_ACCEPTED and 0 < (most := self.session().largest_upload) < size:
                raise InvalidInput(
                    f"{shown} has {size:,} bytes, more than the {most:,} that this server accepts; "
                    "the operator can raise that (bentham serve --max-upload), or draw a sample of "
                    "the rows"
                )
            data = content.read_bytes() if isinstance(content, Path) else content
        except FileNotFoundError:
            raise InvalidInput(f"{shown}: no such file; check its name") from None
        except IsADirectoryError:
            raise InvalidInput(f"{shown} is a directory; name a file in it") from None
        except OSError as error:
            raise InvalidInput(
                f"{shown} cannot be read ({error.strerror}); check its permissions"
            ) from None
        head = data[:HEAD]
        if not head.strip():
            raise InvalidInput(f"{shown} is empty; upload a table with a line of column names")
        if other := not_csv(head) if format == "csv" else not_parquet(head):
            raise InvalidInput(f"{shown}: {other}")
        return data

    def datasets(self) -> Iterator[DatasetView]:
        """Iterate over the caller's own datasets and the shared ones."""
        return self._items("/v1/datasets", DatasetView)

    def dataset(self, dataset_id: str) -> DatasetView:
        """Return one dataset, with its columns."""
        return self._get(f"/v1/datasets/{segment('dataset', dataset_id)}", DatasetView)

    def dataset_content(self, dataset_id: str) -> Iterator[bytes]:
        """Iterate over the chunks of the uploaded file."""
        return self._stream(f"/v1/datasets/{segment('dataset', dataset_id)}/content", None)

    def rename_dataset(self, dataset_id: str, name: str) -> DatasetView:
        """Give a dataset another name; its id stays the same."""
        path = f"/v1/datasets/{segment('dataset', dataset_id)}"
        body = request_body(DatasetChange, name=name)
        return self._connection.ask("PATCH", path, DatasetView, body)

    def drop_dataset(self, dataset_id: str) -> DatasetView:
        """Delete a dataset permanently."""
        path = f"/v1/datasets/{segment('dataset', dataset_id)}"
        return self._connection.ask("DELETE", path, DatasetView)

    def algorithms(self) -> list[Algorithm]:
        """Return the algorithms that studies draw their candidates from."""
        return list(self._items("/v1/algorithms", Algorithm))

    def metrics(self) -> list[Metric]:
        """Return the metrics that score models."""
        return list(self._items("/v1/metrics", Metric))

    def script(self, study_id: str, model: str | None = None) -> str:
        """Return a script that trains the best model, or `model`, and reproduces its score."""
        return self._text(f"/v1/studies/{segment('study', study_id)}/script", {"model": model})

    def record(self, study_id: str) -> list[Improvement]:
        """Return a study's learning record: its scores in order, with the best so far."""
        return list(self._items(f"/v1/studies/{segment('study', study_id)}/record", Improvement))

    def trial_log(self, trial_id: str) -> str:
        """Return the output of a trial."""
        return self._text(f"/v1/trials/{segment('trial', trial_id)}/log")

    def costs(self) -> Costs:
        """Return how well costs were predicted."""
        return self._get("/v1/costs", Costs)
