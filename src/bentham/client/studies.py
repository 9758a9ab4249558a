"""Calls for studies and their trials."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bentham.client.calls import LONG
from bentham.client.connection import request_body, segment
from bentham.client.datasets import DataCalls
from bentham.errors import InvalidInput, ServiceError, Unavailable
from bentham.wire import (
    BestModel,
    Candidate,
    DataAsked,
    DatasetView,
    FitCreate,
    FittedModel,
    SplitAsked,
    StopRules,
    StudyChange,
    StudyCreate,
    StudyReopen,
    StudyView,
    TrialView,
)

LONGEST_OUTAGE = 300.0  # seconds without the server that waiting for a study survives


class StudyCalls(DataCalls):
    """Create studies, wait for them, and read their candidates and trials."""

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
        floor: float | None = None,
        rows: int | None = None,
        columns: int | None = None,
        stop: StopRules | None = None,
        tenant: str | None = None,
    ) -> StudyView:
        """Create a study on a dataset, or on a list of `models`.

        With `target`, the column to predict, `dataset` is an uploaded dataset (the return value of
        `add_dataset`, an id or a name) or a Path, which is uploaded first. The number of models to
        draw is `candidates`; they are drawn from `algorithms`, by default from all that suit the
        data. The `task`, the `types` of columns and the `split`, such as {"kind": "folds",
        "folds": 5}, are inferred if omitted. `data` replaces these arguments by one object.

        Without `target`, `models` is a list of names, or maps each name to its expected device time
        in seconds (None: learned), and `dataset` is only a name: studies with the same one share
        their trials.
        """
        if target is None and (task or types or split or not isinstance(dataset, str)):
            raise InvalidInput(_no_target(dataset))
        if target is not None:
            if data is not None:
                raise InvalidInput(
                    "data already contains the target; pass data or target, not both"
                )
            data = self._data(dataset, target, task, types, split, tenant)
            dataset = ""
        fields: dict[str, object] = {
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
        present = {name: value for name, value in fields.items() if value}
        if floor is not None:
            present["floor"] = floor
        body = request_body(
            StudyCreate, name=name, weight=weight, stop=stop or StopRules(), **present
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
        fields = {
            "task": task,
            "types": dict(types) if types else None,
            "split": dict(split) if isinstance(split, Mapping) else split,
        }
        present = {name: value for name, value in fields.items() if value is not None}
        # Check before uploading a file: an upload for a refused study would be useless.
        name = dataset if isinstance(dataset, str) else dataset.name
        body = request_body(DataAsked, dataset=name, target=target, **present)
        if isinstance(dataset, Path):
            dataset = self.add_dataset(dataset.name, dataset, tenant=tenant)
        if isinstance(dataset, DatasetView):
            body = request_body(DataAsked, dataset=dataset.id, target=target, **present)
        return body

    def wait(self, study: str | StudyView, timeout: float | None = None) -> StudyView:
        """Wait until a study (or the one with this id) is closed, and return it.

        A study closes when every model has been tried, when a stop rule is met (by default, when
        nothing that is left is worth running), or when a user closes it. A paused study may be
        resumed, so this keeps waiting, as it does while the server restarts. After `timeout`
        seconds it raises TimeoutError; the study continues.
        """
        return deque(self.watch(study, timeout), maxlen=1).pop()

    def watch(self, study: str | StudyView, timeout: float | None = None) -> Iterator[StudyView]:
        """Like `wait`, but iterate over the study's states: one at least every five seconds.

        Raises only if the server is unavailable for longer than five minutes.
        """
        connection = self._connection
        study_id = study if isinstance(study, str) else study.id
        began = read = connection.clock()
        polls = 0
        name, state = study_id, "unknown"
        while True:
            try:
                current = self.study(study_id)
            except Unavailable:
                if connection.clock() - read > LONGEST_OUTAGE:
                    raise
            else:
                read, name, state = connection.clock(), current.name, current.state
                yield current
                if state == "closed":
                    return
            polls += 1
            pause = connection.pause(polls, None)
            if timeout is not None:
                remaining = began + timeout - connection.clock()
                if remaining <= 0.0:
                    raise TimeoutError(
                        f"the study {name!r} is still {state} after {timeout:g} seconds; wait "
                        "longer, or use its best model so far"
                    )
                pause = min(pause, remaining)
            connection.sleep(pause)

    def best(self, study_id: str) -> BestModel:
        """Return a study's best model: where it errs, which columns it needs, its fitted form."""
        return self._get(f"/v1/studies/{segment('study', study_id)}/best", BestModel)

    def request_fit(self, study_id: str, model: str | None = None) -> FittedModel:
        """Ask for the best model, or `model`, trained on all rows; see `fitted_model`."""
        path = f"/v1/studies/{segment('study', study_id)}/fitted"
        body = FitCreate() if model is None else request_body(FitCreate, model=model)
        return self._post(path, FittedModel, body)

    def fitted(self, study_id: str) -> FittedModel:
        """Return whether the fitted model requested last is ready."""
        return self._get(f"/v1/studies/{segment('study', study_id)}/fitted", FittedModel)

    def fitted_model(
        self,
        study_id: str,
        model: str | None = None,
        timeout: float | None = None,
        progress: Callable[[FittedModel], None] = lambda _: None,
    ) -> bytes:
        """Return the file of the best model, or of `model`, trained on all rows.

        If there is none yet, a device fits the model first; `progress` is called with its state
        meanwhile. The file is a zip that Python runs: `python FILE.pyz new.csv`. Opening it runs
        code, so open only files that you trust. Raises TimeoutError after `timeout` seconds.
        """
        connection = self._connection
        until = None if timeout is None else connection.clock() + timeout
        fitted, polls = self.request_fit(study_id, model), 0
        wanted = fitted.model
        while fitted.state in ("waiting", "running") and fitted.model == wanted:
            progress(fitted)
            polls += 1
            if until is not None and connection.clock() >= until:
                reason = f" ({fitted.reason})" if fitted.reason else ""
                raise TimeoutError(
                    f"the model {wanted!r} is still {fitted.state}{reason} after {timeout:g} "
                    "seconds; ask again later, it continues"
                )
            connection.sleep(min(1.0, connection.pause(polls, None)))
            fitted = self.fitted(study_id)
        if fitted.model != wanted:
            raise ServiceError(
                f"the model {fitted.model!r} of this study was asked for meanwhile; try again"
            )
        if fitted.state != "ready":
            raise ServiceError(f"the model {wanted!r} could not be fitted: {fitted.reason}")
        path = f"/v1/studies/{segment('study', study_id)}/fitted/file"
        content = b"".join(self._stream(path, max(LONG, connection.timeout)))
        if hashlib.sha256(content).hexdigest() != fitted.hash:
            raise ServiceError("the file received does not match its SHA-256; try again")
        return content

    def studies(self, state: str | None = None) -> Iterator[StudyView]:
        """Iterate over all studies, or those in a state: open, paused or closed."""
        return self._items("/v1/studies", StudyView, {"state": state, "limit": 1000})

    def study(self, study_id: str) -> StudyView:
        """Return one study."""
        return self._get(f"/v1/studies/{segment('study', study_id)}", StudyView)

    def candidates(self, study_id: str) -> list[Candidate]:
        """Return a study's models with their scores, predictions and costs."""
        return list(self._items(f"/v1/studies/{segment('study', study_id)}/candidates", Candidate))

    def rename_study(self, study_id: str, name: str) -> StudyView:
        """Give a study another name; its id stays the same."""
        path = f"/v1/studies/{segment('study', study_id)}"
        body = request_body(StudyChange, name=name)
        return self._connection.ask("PATCH", path, StudyView, body)

    def pause_study(self, study_id: str) -> StudyView:
        """Pause a study: no new trials start; running ones continue."""
        return self._post(f"/v1/studies/{segment('study', study_id)}/pause", StudyView)

    def resume_study(self, study_id: str) -> StudyView:
        """Resume a paused study."""
        return self._post(f"/v1/studies/{segment('study', study_id)}/resume", StudyView)

    def close_study(self, study_id: str) -> StudyView:
        """Close a study: no new trials start; running ones continue. It can be reopened."""
        return self._post(f"/v1/studies/{segment('study', study_id)}/close", StudyView)

    def reopen_study(self, study_id: str, stop: StopRules | None = None) -> StudyView:
        """Continue with a closed study, under new stop rules.

        Without `stop`, a study that was closed by request keeps its rules, and one that a stop rule
        has closed continues until every model has been tried.
        """
        body = StudyReopen() if stop is None else request_body(StudyReopen, stop=stop)
        path = f"/v1/studies/{segment('study', study_id)}/reopen"
        return self._post(path, StudyView, body)

    def trials(self, study: str | None = None, state: str | None = None) -> Iterator[TrialView]:
        """Iterate over all trials, or those of a study or in a state."""
        return self._items("/v1/trials", TrialView, {"study": study, "state": state, "limit": 1000})

    def trial(self, trial_id: str) -> TrialView:
        """Return one trial."""
        return self._get(f"/v1/trials/{segment('trial', trial_id)}", TrialView)


def _no_target(dataset: str | Path | DatasetView) -> str:
    columns = (
        [column.name for column in dataset.columns] if isinstance(dataset, DatasetView) else []
    )
    more = f" and {len(columns) - 20:,} more" if len(columns) > 20 else ""
    listed = f"; the columns are {', '.join(map(repr, columns[:20]))}{more}" if columns else ""
    return f"name the column to predict, as in target='price'{listed}"
