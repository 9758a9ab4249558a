"""Handlers of events about studies: created, paused, resumed, closed."""

from collections.abc import Mapping
from typing import Any

from bentham.core.problem.study import ModelDescription
from bentham.service.fold import events as happened
from bentham.service.fold.entities import Arms, Description, Study, as_json
from bentham.service.fold.lifecycles import STUDY
from bentham.service.fold.state import State, dataset_key


def study_created(state: State, time: float, event: happened.StudyCreated) -> None:
    """Add a study, which is served from now on; scores of others on the same data count for it."""
    tenant = state.tenants[event.tenant]
    key = dataset_key(event.tenant, event.dataset)
    shared = state.arms.get(key)
    shared = shared or Arms(as_json(event.training), event.training.get("hash", ""))
    study = Study(
        event.id, tenant, event.name, event.dataset, event.metric, event.models, event.weight,
        event.floor, event.rows, event.columns, event.stop, time, shared,
        event.drawn, event.data,
    )  # fmt: skip
    for model, tried in shared.tried.items():
        if tried.score is not None:
            study.credit(model, tried.score, time)
    study.untried = sum(state == "untried" for state in study.states())
    described = {name: _description(said) for name, said in event.described.items()}
    state.descriptions.update(described)
    try:
        state.serve(time, study)
    except Exception:  # it is refused: undo what was changed
        for name in described:
            del state.descriptions[name]
        raise
    if key not in state.arms:
        tenant.trained_columns += len(event.training.get("columns", ()))
    state.arms[key] = shared
    tenant.arms += len(event.models)
    tenant.models.update(dict.fromkeys(state.counted(event.models, event.drawn)))
    state.models.update(dict.fromkeys(event.models))
    shared.studies.append(study)
    state.studies[study.id] = tenant.studies[study.name] = tenant.current[study.id] = study
    deadline = study.stop.get("deadline")
    if deadline is not None:
        state.deadlines[study.id] = deadline


def study_paused(state: State, time: float, event: happened.StudyPaused) -> None:
    """Stop new trials until the study is resumed."""
    _move(state, time, event, "paused")


def study_resumed(state: State, time: float, event: happened.StudyResumed) -> None:
    """Resume a paused study."""
    _move(state, time, event, "open")


def study_closed(state: State, time: float, event: happened.StudyClosed) -> None:
    """Close a study."""
    study = _move(state, time, event, "closed")
    study.reason, study.closed = event.reason, time
    study.tenant.arms -= len(study.models)
    study.tenant.closed.append(study.tenant.current.pop(study.id))
    state.deadlines.pop(study.id, None)


def _move(
    state: State,
    time: float,
    event: happened.StudyPaused | happened.StudyResumed | happened.StudyClosed,
    after: str,
) -> Study:
    study = state.studies[event.id]
    study.state = STUDY.check(study.state, happened.kind_of(event), after)
    state.serve(time, study)
    return study


def _description(said: Mapping[str, Any]) -> Description:
    kin = ModelDescription(said["family"], said["features"])
    standard = bool(said.get("standard"))
    return Description(said["algorithm"], said["configuration"], kin, standard)
