"""Datasets: what tenants upload, or an operator for all of them."""

from dataclasses import dataclass

from bentham import wire
from bentham.service import events as happened
from bentham.service.commands import Command, Events, new_id
from bentham.service.entities import Dataset, Tenant
from bentham.service.pool import Pool
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.scope import Caller, Scope

MOST_DATASETS_OF_TENANT, MOST_INSTALLED = 200, 1000
MOST_BYTES_OF_TENANT = 4 * 2**30
# Columns are kept in memory: so many, of all the datasets of a tenant.
MOST_COLUMNS_OF_TENANT = 100_000


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was stored, and what was found in it."""

    name: str
    hash: str
    format: str
    bytes: int
    found: wire.Inspection


def tenant_for(pool: Pool, caller: Caller, named: str | None) -> Tenant:
    """The caller's tenant, or the one that an admin names."""
    if caller.role == "tenant":
        if named not in (None, caller.tenant):
            raise Missing(f"there is no tenant {named!r}")
        return Scope(pool, caller).tenant(caller.tenant or "")
    if named is None:
        raise Invalid("say for which tenant the study is, by the field tenant")
    return Scope(pool, caller).tenant(named)


def owned(pool: Pool, caller: Caller, named: str | None) -> dict[str, Dataset]:
    """The datasets among which a new one of the caller's goes; without a tenant, everybody's."""
    if caller.role == "admin" and named is None:
        return pool.installed
    return tenant_for(pool, caller, named).datasets


def owner_of(caller: Caller, named: str | None) -> str:
    """Whose the caller's uploads are: a tenant's, or everybody's."""
    return named or caller.tenant or ""


def same(pool: Pool, caller: Caller, named: str | None, name: str, digest: str) -> Dataset | None:
    """The dataset that this upload would make once more; refuse a name that is another's."""
    others = [each for each in owned(pool, caller, named).values() if each.name == name]
    if others and others[0].hash != digest:
        raise Conflicting(
            f"there is a dataset {name!r} with other content already; pick another name, or drop "
            "that one first"
        )
    return others[0] if others else None


def check_room(pool: Pool, caller: Caller, tenant: str | None, upload: Upload) -> None:
    """Refuse what would be too much, before anything of it is kept."""
    known = owned(pool, caller, tenant)
    if same(pool, caller, tenant, upload.name, upload.hash) is None:
        _refuse_too_many(known, known is not pool.installed, upload)


def add_dataset(caller: Caller, tenant: str | None, upload: Upload) -> Command:
    """A new dataset; the same again changes nothing."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        if same(pool, caller, tenant, upload.name, upload.hash) is not None:
            return []
        check_room(pool, caller, tenant, upload)
        found, owner = upload.found, owner_of(caller, tenant)
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

    return command


def _refuse_too_many(known: dict[str, Dataset], tenants: bool, upload: Upload) -> None:
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


def drop_dataset(caller: Caller, name: str) -> Command:
    """A dataset goes, unless a study that is not closed is over it."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        dataset = Scope(pool, caller).dataset(name)
        if not dataset.tenant and caller.role != "admin":
            raise Conflicting(f"dataset {name!r} is the operator's; only an operator drops it")
        owner = pool.tenants.get(dataset.tenant)
        studies = pool.studies if owner is None else owner.studies
        used = [
            study
            for study in studies.values()
            if study.data.get("dataset") == dataset.id and study.state != "closed"
        ]
        running = pool.running if owner is None else owner.running
        runs = any(trial.study.data.get("dataset") == dataset.id for trial in running.values())
        if runs and not used:
            raise Conflicting(f"a trial that runs trains on dataset {name!r}; wait until it ended")
        if used:
            # Of a dataset that is everybody's only an admin gets here.
            raise Conflicting(
                f"study {used[0].name!r} ({used[0].id}) is over dataset {name!r}; close it first"
            )
        return [happened.DatasetDropped(dataset.id, dataset.tenant)]

    return command
