"""Studies and their trials."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bentham.client.connection import asked, part
from bentham.client.datasets import DataCalls
from bentham.errors import InvalidInput
from bentham.wire import (
    Candidate,
    DataAsked,
    DatasetView,
    SplitAsked,
    StopRules,
    StudyCreate,
    StudyView,
    TrialView,
)


class StudyCalls(DataCalls):
    """Makes studies, waits for them, and shows what they tried."""

    def create_study(
        self,
        name: str,
        models: Mapping[str, float | None] | Sequence[str] = (),
        *,
        dataset: str | Path | DatasetView = "",
        target: str | None = None,
        task: str | None = None,
        types: Mapping[str, str] | None = None,
        split: SplitAsked | Mapping[str, object] | None = None,
        data: DataAsked | None = None,
        algorithms: Sequence[str] = (),
        candidates: int | None = None,
        metric: str | None = None,
        weight: float = 1.0,
        floor: float = 0.0,
        rows: int | None = None,
        columns: int | None = None,
        stop: StopRules | None = None,
        tenant: str | None = None,
    ) -> StudyView:
        """Make a study over a dataset, or over `models` one by one.

        With `target`, the column to predict, `dataset` is what was uploaded (what `add_dataset`
        gave back, or its id or name) or a Path, which is uploaded first; `candidates` models are
        drawn from `algorithms`, or from all that suit the data. The `task`, the `types` of columns
        and the `split`, such as {"kind": "folds", "folds": 5}, are inferred where they are left
        out. `data` says the same in one object.

        Without `target`, `models` may map each to its expected device time (None: to be learned),
        and `dataset` is only a name: studies with the same one share their trials.
        """
        if target is None and (task or types or split or not isinstance(dataset, str)):
            raise InvalidInput(_no_target(dataset))
        if target is not None:
            if data is not None:
                raise InvalidInput("data names the target already; leave one of the two out")
            data = self._data(dataset, target, task, types, split, tenant)
            dataset = ""
        given: dict[str, object] = {
            "models": dict(models) if isinstance(models, Mapping) else list(models),
            "data": data,
            "algorithms": list(algorithms),
            "candidates": candidates,
            "dataset": dataset,
            "metric": metric,
            "rows": rows,
            "columns": columns,
            "tenant": tenant,
        }
        said = {name: value for name, value in given.items() if value}
        body = asked(
            StudyCreate, name=name, weight=weight, floor=floor, stop=stop or StopRules(), **said
        )
        return self._post("/v1/studies", StudyView, body)

    def _data(
        self,
        dataset: str | Path | DatasetView,
        target: str,
        task: str | None,
        types: Mapping[str, str] | None,
        split: SplitAsked | Mapping[str, object] | None,
        tenant: str | None,
    ) -> DataAsked:
        given = {
            "task": task,
            "types": dict(types) if types else None,
            "split": dict(split) if isinstance(split, Mapping) else split,
        }
        said = {name: value for name, value in given.items() if value is not None}
        # Checked before a file is uploaded: an upload for a study that is refused helps nobody.
        named = dataset if isinstance(dataset, str) else dataset.name
        body = asked(DataAsked, dataset=named, target=target, **said)
        if isinstance(dataset, Path):
            dataset = self.add_dataset(dataset.name, dataset, tenant=tenant)
        if isinstance(dataset, DatasetView):
            body = asked(DataAsked, dataset=dataset.id, target=target, **said)
        return body

    def wait(self, study: str | StudyView, timeout: float | None = None) -> StudyView:
        """Wait until a study, or the one of this id, is closed; get it as it is then.

        It closes when every model was tried, when one of its stop rules is met, or when somebody
        closes it; one that is paused may be resumed, so it is waited for. After `timeout` seconds
        this raises a TimeoutError, and the study goes on.
        """
        connection = self._connection
        study_id = study if isinstance(study, str) else study.id
        until = None if timeout is None else connection.clock() + timeout
        looks = 0
        while True:
            now = self.study(study_id)
            if now.state == "closed":
                return now
            looks += 1
            pause = connection.pause(looks, None)
            if until is not None:
                left = until - connection.clock()
                if left <= 0.0:
                    raise TimeoutError(
                        f"the study {now.name!r} is still {now.state} after {timeout:g} seconds; "
                        "wait longer, or use its best model so far"
                    )
                pause = min(pause, left)
            connection.sleep(pause)

    def studies(self, state: str | None = None) -> Iterator[StudyView]:
        """All studies, or those that are open, paused or closed."""
        return self._items("/v1/studies", StudyView, {"state": state, "limit": 1000})

    def study(self, study_id: str) -> StudyView:
        """One study."""
        return self._get(f"/v1/studies/{part('study', study_id)}", StudyView)

    def candidates(self, study_id: str) -> list[Candidate]:
        """A study's models, and what is known and believed of them."""
        return list(self._items(f"/v1/studies/{part('study', study_id)}/candidates", Candidate))

    def pause_study(self, study_id: str) -> StudyView:
        """Start no more trials of the study for now; those that run go on."""
        return self._post(f"/v1/studies/{part('study', study_id)}/pause", StudyView)

    def resume_study(self, study_id: str) -> StudyView:
        """Take a paused study up again."""
        return self._post(f"/v1/studies/{part('study', study_id)}/resume", StudyView)

    def close_study(self, study_id: str) -> StudyView:
        """End a study for good."""
        return self._post(f"/v1/studies/{part('study', study_id)}/close", StudyView)

    def trials(self, study: str | None = None, state: str | None = None) -> Iterator[TrialView]:
        """All trials, or those of a study or in a state."""
        return self._items("/v1/trials", TrialView, {"study": study, "state": state, "limit": 1000})

    def trial(self, trial_id: str) -> TrialView:
        """One trial."""
        return self._get(f"/v1/trials/{part('trial', trial_id)}", TrialView)


def _no_target(dataset: str | Path | DatasetView) -> str:
    columns = (
        [column.name for column in dataset.columns] if isinstance(dataset, DatasetView) else []
    )
    there_are = f"; there are {', '.join(map(repr, columns[:20]))}" if columns else ""
    return f"name the column to predict, as in target='price'{there_are}"
