"""Datasets, the catalogue, and what studies over data found out."""

from collections.abc import Iterator
from pathlib import Path

from bentham.client.answers import understood
from bentham.client.calls import LONG, Calls
from bentham.client.connection import part
from bentham.wire import Algorithm, Costs, DatasetView, Improvement, Metric
from bentham.wire.datasets import CONTENT_TYPES, Format

PARQUET_SUFFIXES = (".parquet", ".pq")


class DataCalls(Calls):
    """Datasets, algorithms and metrics; scripts and records of studies."""

    def add_dataset(
        self,
        name: str,
        content: bytes | Path,
        format: Format | None = None,  # noqa: A002
        tenant: str | None = None,
    ) -> DatasetView:
        """Upload a table; the same content by the same name again changes nothing.

        A Path that ends in .parquet or .pq is Parquet and everything else CSV, unless `format`
        says otherwise. An admin says whose it is, or leaves it out: then it is everybody's.
        """
        data = content.read_bytes() if isinstance(content, Path) else content
        if format is None:
            is_parquet = isinstance(content, Path) and content.suffix.lower() in PARQUET_SUFFIXES
            format = "parquet" if is_parquet else "csv"  # noqa: A001
        kind = next(kind for kind, each in CONTENT_TYPES.items() if each == format)
        reply = self._connection.send(
            "POST",
            "/v1/datasets",
            data,
            content_type=kind,
            parameters={"name": name, "tenant": tenant},
            timeout=max(LONG, self._connection.timeout),
        )
        return understood(self.server, reply, DatasetView)

    def datasets(self) -> Iterator[DatasetView]:
        """One's own datasets and those that are everybody's."""
        return self._items("/v1/datasets", DatasetView)

    def dataset(self, dataset_id: str) -> DatasetView:
        """One dataset, with its columns."""
        return self._get(f"/v1/datasets/{part('dataset', dataset_id)}", DatasetView)

    def dataset_content(self, dataset_id: str) -> Iterator[bytes]:
        """The file as it was uploaded, piece by piece."""
        return self._stream(f"/v1/datasets/{part('dataset', dataset_id)}/content", None)

    def drop_dataset(self, dataset_id: str) -> DatasetView:
        """Forget a dataset for good."""
        path = f"/v1/datasets/{part('dataset', dataset_id)}"
        return self._connection.ask("DELETE", path, DatasetView)

    def algorithms(self) -> list[Algorithm]:
        """What studies may draw their candidates from."""
        return list(self._items("/v1/algorithms", Algorithm))

    def metrics(self) -> list[Metric]:
        """How models are judged."""
        return list(self._items("/v1/metrics", Metric))

    def script(self, study_id: str, model: str | None = None) -> str:
        """A script that trains a study's best model, or the one named, and repeats its score."""
        return self._text(f"/v1/studies/{part('study', study_id)}/script", {"model": model})

    def record(self, study_id: str) -> list[Improvement]:
        """A study's learning record: each score as it came, and the best by then."""
        return list(self._items(f"/v1/studies/{part('study', study_id)}/record", Improvement))

    def trial_log(self, trial_id: str) -> str:
        """What a trial printed."""
        return self._text(f"/v1/trials/{part('trial', trial_id)}/log")

    def costs(self) -> Costs:
        """How well costs were predicted."""
        return self._get("/v1/costs", Costs)
