"""Datasets: what tenants upload, or an operator for all of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from bentham.service.commands.tenants import new_id
from bentham.service.engine.rules import Events
from bentham.service.engine.scope import Caller
from bentham.service.engine.turn import Look, Turn, allowed
from bentham.service.fold import events as happened
from bentham.service.fold.entities import Dataset
from bentham.service.refusals import Conflicting
from bentham.service.views.entities import View, dataset_view
from bentham.training.dataset import Inspection

MOST_DATASETS_OF_TENANT, MOST_INSTALLED = 200, 1000
MOST_BYTES_OF_TENANT = 4 * 2**30
OWNERS = ("admin", "tenant")
# Columns are kept in memory: so many, of all the datasets of a tenant.
MOST_COLUMNS_OF_TENANT = 100_000


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was stored, and what was found in it."""

    name: str
    hash: str
    format: str
    bytes: int
    found: Inspection


def owned(turn: Turn, named: str | None) -> Mapping[str, Dataset]:
    """The datasets among which a new one of the caller's goes; without a tenant, everybody's."""
    if turn.caller.role == "admin" and named is None:
        return turn.shared.installed
    return turn.scope.tenant_for(named).datasets


def owner_of(caller: Caller, named: str | None) -> str:
    """Whose the caller's uploads are: a tenant's, or everybody's."""
    return named or caller.tenant or ""


def same(turn: Turn, named: str | None, name: str, digest: str) -> Dataset | None:
    """The dataset that this upload would make once more; refuse a name that is another's."""
    others = [each for each in owned(turn, named).values() if each.name == name]
    if others and others[0].hash != digest:
        raise Conflicting(
            f"there is a dataset {name!r} with other content already; pick another name, or drop "
            "that one first"
        )
    return others[0] if others else None


@allowed(*OWNERS)
def uploader(look: Look, tenant: str | None) -> tuple[str, str]:
    """The token and the owner of an upload; who may not upload for that tenant is refused."""
    owned(look, tenant)
    return look.caller.token, owner_of(look.caller, tenant)


@allowed(*OWNERS)
def known_upload(look: Look, tenant: str | None, name: str, digest: str) -> View | None:
    """The dataset of this name and content, if there is one already."""
    found = same(look, tenant, name, digest)
    return None if found is None else dataset_view(found)


@allowed(*OWNERS)
def check_room(turn: Turn, tenant: str | None, upload: Upload) -> None:
    """Refuse what would be too much, before anything of it is kept."""
    if same(turn, tenant, upload.name, upload.hash) is None:
        known = owned(turn, tenant)
        _refuse_too_many(known, known is not turn.shared.installed, upload)


@allowed(*OWNERS)
def added_before(look: Look, tenant: str | None, upload: Upload) -> View | None:
    """The dataset that an upload would make once more."""
    return known_upload(look, tenant, upload.name, upload.hash)


@allowed(*OWNERS, unchanged=added_before)
def add_dataset(turn: Turn, tenant: str | None, upload: Upload) -> Events:
    """A new dataset; the same again changes nothing."""
    if same(turn, tenant, upload.name, upload.hash) is not None:
        return []
    check_room(turn, tenant, upload)
    found, owner = upload.found, owner_of(turn.caller, tenant)
    return [
        happened.DatasetAdded(
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
    remedy = "drop some that you need no longer"
    if len(known) >= most:
        raise Conflicting(f"there are {most} datasets, the most that are possible; {remedy}")
    if not tenants:
        return
    held = sum(each.bytes for each in known.values()) + upload.bytes
    if held > MOST_BYTES_OF_TENANT:
        raise Conflicting(
            f"your datasets would hold {held / 2**20:,.0f} MiB, more than "
            f"{MOST_BYTES_OF_TENANT / 2**20:,.0f}; {remedy}"
        )
    width = sum(each.width for each in known.values()) + len(upload.found.columns)
    if width > MOST_COLUMNS_OF_TENANT:
        raise Conflicting(
            f"your datasets would have {width:,} columns in all, more than "
            f"{MOST_COLUMNS_OF_TENANT:,}; {remedy}"
        )


@allowed(*OWNERS)
def drop_dataset(turn: Turn, name: str) -> Events:
    """A dataset goes, unless a study that is not closed is over it."""
    dataset = turn.scope.dataset(name)
    if not dataset.tenant and turn.caller.role != "admin":
        raise Conflicting(f"dataset {name!r} is the operator's; only an operator drops it")
    # Over a dataset that is everybody's, the studies and trials of all tenants count.
    owner = turn.scope.tenant(dataset.tenant) if dataset.tenant else turn.whole()
    used = [
        study
        for study in owner.studies.values()
        if study.data.get("dataset") == dataset.id and study.state != "closed"
    ]
    runs = any(trial.study.data.get("dataset") == dataset.id for trial in owner.running.values())
    if runs and not used:
        raise Conflicting(f"a trial that runs trains on dataset {name!r}; wait until it ended")
    if used:
        raise Conflicting(
            f"study {used[0].name!r} ({used[0].id}) is over dataset {name!r}; close it first"
        )
    return [happened.DatasetDropped(dataset.id, dataset.tenant)]


@allowed(*OWNERS)
def left_by(look: Look, dataset: str, tenant: str, digest: str) -> tuple[bool, list[str]]:
    """What a dropped dataset leaves: whether its content is nobody's now, and its trials."""
    owner = look.scope.tenant(tenant) if tenant else look.whole()
    trials = [
        trial.id
        for study in owner.studies.values()
        if study.data.get("dataset") == dataset
        for trial in study.trials
    ]
    others = look.scope.tenant(tenant).datasets if tenant else look.shared.installed
    return all(each.hash != digest for each in others.values()), trials
