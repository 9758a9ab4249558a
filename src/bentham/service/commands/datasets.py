"""Datasets: uploaded by a tenant for itself, or by an operator for all tenants."""

from collections.abc import Mapping
from dataclasses import dataclass

from bentham import wire
from bentham.service.commands.tenants import new_id
from bentham.service.engine.rules import Events
from bentham.service.engine.scope import Caller
from bentham.service.engine.turn import Look, Turn, allowed
from bentham.service.fold import events
from bentham.service.fold.entities import Dataset
from bentham.service.refusals import Conflicting
from bentham.service.views import queries
from bentham.service.views.entities import View, dataset_view
from bentham.training.dataset import Inspection

MOST_DATASETS_OF_TENANT, MOST_INSTALLED = 200, 1000
MOST_BYTES_OF_TENANT = 4 * 2**30
OWNERS = ("admin", "tenant")
# Columns are held in memory: the limit for all datasets of a tenant together.
MOST_COLUMNS_OF_TENANT = 100_000


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was received, and the result of its inspection."""

    name: str
    hash: str
    format: str
    bytes: int
    found: Inspection


def owned(turn: Turn, named: str | None) -> Mapping[str, Dataset]:
    """Return the datasets that an upload is added to; without a tenant, the shared ones."""
    if turn.caller.role == "admin" and named is None:
        return turn.shared.installed
    return turn.scope.tenant_for(named).datasets


def owner_of(caller: Caller, named: str | None) -> str:
    """Return the tenant that owns the caller's uploads, empty if they are shared."""
    return named or caller.tenant or ""


def same(turn: Turn, named: str | None, name: str, digest: str) -> Dataset | None:
    """Return the dataset that an upload repeats; refuse a name that has other content."""
    others = [each for each in owned(turn, named).values() if each.name == name]
    if others and others[0].hash != digest:
        raise Conflicting(
            f"a dataset {name!r} with other content already exists; pick another name, or drop "
            "that one first"
        )
    return others[0] if others else None


@allowed(*OWNERS)
def uploader(look: Look, tenant: str | None) -> tuple[str, str]:
    """Return the token and the owner of an upload; refuse a tenant that is not the caller's."""
    owned(look, tenant)
    return look.caller.token, owner_of(look.caller, tenant)


@allowed(*OWNERS)
def known_upload(look: Look, tenant: str | None, name: str, digest: str) -> View | None:
    """Return the dataset with this name and content; None if there is none."""
    found = same(look, tenant, name, digest)
    return None if found is None else dataset_view(found)


@allowed(*OWNERS)
def check_room(turn: Turn, tenant: str | None, upload: Upload) -> None:
    """Refuse an upload that exceeds a limit, before it is stored."""
    if same(turn, tenant, upload.name, upload.hash) is None:
        known = owned(turn, tenant)
        _refuse_too_many(known, known is not turn.shared.installed, upload)


@allowed(*OWNERS)
def added_before(look: Look, tenant: str | None, upload: Upload) -> View | None:
    """Return the dataset that an upload repeats."""
    return known_upload(look, tenant, upload.name, upload.hash)


@allowed(*OWNERS, unchanged=added_before)
def add_dataset(turn: Turn, tenant: str | None, upload: Upload) -> Events:
    """Add a dataset; a repeat changes nothing."""
    if same(turn, tenant, upload.name, upload.hash) is not None:
        return []
    check_room(turn, tenant, upload)
    found, owner = upload.found, owner_of(turn.caller, tenant)
    return [
        events.DatasetAdded(
            new_id("d"),
            owner,
            upload.name,
            upload.hash,
            upload.format,
            found.delimiter,
            upload.bytes,
            found.rows,
            [column.model_dump() for column in found.columns],
            list(found.notes),
        )
    ]


def _refuse_too_many(known: Mapping[str, Dataset], tenants: bool, upload: Upload) -> None:
    most = MOST_DATASETS_OF_TENANT if tenants else MOST_INSTALLED
    remedy = "drop some that you no longer need"
    if len(known) >= most:
        raise Conflicting(f"there are already {most} datasets, the maximum; {remedy}")
    if not tenants:
        return
    held = sum(each.bytes for each in known.values()) + upload.bytes
    if held > MOST_BYTES_OF_TENANT:
        raise Conflicting(
            f"your datasets would take {held / 2**20:,.0f} MiB, more than the limit of "
            f"{MOST_BYTES_OF_TENANT / 2**20:,.0f} MiB; {remedy}"
        )
    width = sum(each.width for each in known.values()) + len(upload.found.columns)
    if width > MOST_COLUMNS_OF_TENANT:
        raise Conflicting(
            f"your datasets would have {width:,} columns in total, more than the limit of "
            f"{MOST_COLUMNS_OF_TENANT:,}; {remedy}"
        )


@allowed(*OWNERS, unchanged=queries.dataset)
def rename_dataset(turn: Turn, name: str, body: wire.DatasetChange) -> Events:
    """Give a dataset another name, unique among those of its owner."""
    dataset = _changeable(turn, name, "rename")
    if dataset.name == body.name:
        return []
    others = owned(turn, dataset.tenant or None).values()
    if any(each.name == body.name for each in others):
        raise Conflicting(f"a dataset {body.name!r} already exists; pick another name")
    return [events.DatasetRenamed(dataset.id, dataset.tenant, body.name)]


def _changeable(turn: Turn, name: str, action: str) -> Dataset:
    dataset = turn.scope.dataset(name)
    if not dataset.tenant and turn.caller.role != "admin":
        raise Conflicting(f"dataset {name!r} is shared; only an operator can {action} it")
    return dataset


@allowed(*OWNERS)
def drop_dataset(turn: Turn, name: str) -> Events:
    """Drop a dataset; refused while a study on it is not closed or a trial on it runs."""
    dataset = _changeable(turn, name, "drop")
    # For a shared dataset, the studies and trials of all tenants count.
    owner = turn.scope.tenant(dataset.tenant) if dataset.tenant else turn.whole()
    used = [
        study
        for study in owner.studies.values()
        if study.data.get("dataset") == dataset.id and study.state != "closed"
    ]
    runs = any(trial.study.data.get("dataset") == dataset.id for trial in owner.running.values())
    if runs and not used:
        raise Conflicting(f"a running trial trains on dataset {name!r}; wait until it ends")
    if used:
        raise Conflicting(
            f"study {used[0].name!r} ({used[0].id}) uses dataset {name!r}; close it first"
        )
    return [events.DatasetDropped(dataset.id, dataset.tenant)]


@allowed(*OWNERS)
def left_by(look: Look, dataset: str, tenant: str, digest: str) -> tuple[bool, list[str]]:
    """Return what a dropped dataset leaves: whether its file is unused now, and its trials."""
    owner = look.scope.tenant(tenant) if tenant else look.whole()
    trials = [
        trial.id
        for study in owner.studies.values()
        if study.data.get("dataset") == dataset
        for trial in study.trials
    ]
    others = look.scope.tenant(tenant).datasets if tenant else look.shared.installed
    return all(each.hash != digest for each in others.values()), trials
