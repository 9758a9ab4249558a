"""Every call of the live service's API, typed.

with Client("http://127.0.0.1:8642", token) as client:
    study = client.create_study("wine quality", {"svm": 30.0, "forest": 120.0})
    for candidate in client.candidates(study.id): ...
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx2
from pydantic import BaseModel

from bentham.client.answers import Page, understood
from bentham.client.connection import Connection, Parameters, asked, part
from bentham.client.events import Event, follow
from bentham.errors import InvalidInput, ServiceError
from bentham.wire import (
    Candidate,
    Complete,
    Decision,
    Device,
    DeviceCreate,
    Fail,
    Heartbeat,
    HistoryImported,
    IssuedToken,
    Lease,
    LeaseRequest,
    Limits,
    LogRecord,
    Overview,
    Release,
    Renewal,
    StopRules,
    Study,
    StudyCreate,
    Tenant,
    TenantChange,
    TenantCreate,
    Token,
    TokenCreate,
    Trial,
)
from bentham.wire.base import LONGEST_TEXT

Model = TypeVar("Model", bound=BaseModel)
# Imports and exports of history may be large.
LONG = 120.0


class Client:
    """Speaks to the server at an address such as http://127.0.0.1:8642.

    A request may take `timeout` seconds; one that failed for want of a connection, or because the
    server was busy, is repeated for up to `patience` seconds in all, and never done twice. Errors
    are those of `bentham.errors.ServiceError`. May be shared by threads.
    """

    def __init__(
        self,
        server: str,
        token: str,
        *,
        timeout: float = 10.0,
        patience: float = 30.0,
        transport: httpx2.BaseTransport | None = None,
    ):
        self._connection = Connection(server, token, timeout, patience, transport)

    @property
    def server(self) -> str:
        """The server's address."""
        return self._connection.server

    def __repr__(self) -> str:
        return f"Client({self.server!r})"

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()

    # -- tenants and tokens ---------------------------------------------------------------------

    def create_tenant(self, name: str, weight: float = 1.0, limits: Limits | None = None) -> Tenant:
        """Make a tenant."""
        body = asked(TenantCreate, name=name, weight=weight, limits=limits or Limits())
        return self._post("/v1/tenants", Tenant, body)

    def tenants(self) -> list[Tenant]:
        """All tenants."""
        return list(self._items("/v1/tenants", Tenant))

    def tenant(self, name: str) -> Tenant:
        """One tenant."""
        return self._get(f"/v1/tenants/{part('tenant', name)}", Tenant)

    def change_tenant(
        self, name: str, *, weight: float | None = None, limits: Limits | None = None
    ) -> Tenant:
        """Change what is given; `limits` are taken as a whole."""
        given = {"weight": weight, "limits": limits}
        body = asked(TenantChange, **{key: v for key, v in given.items() if v is not None})
        path = f"/v1/tenants/{part('tenant', name)}"
        return self._connection.ask("PATCH", path, Tenant, body)

    def issue_token(
        self,
        role: str,
        tenant: str | None = None,
        label: str = "",
        expires_in: float | None = None,
    ) -> IssuedToken:
        """Make a token for an admin, a tenant or a device; its secret is in this answer only."""
        body = asked(TokenCreate, role=role, tenant=tenant, label=label, expires_in=expires_in)
        return self._post("/v1/tokens", IssuedToken, body)

    def tokens(self) -> list[Token]:
        """All tokens, without their secrets."""
        return list(self._items("/v1/tokens", Token))

    def revoke_token(self, token_id: str) -> Token:
        """Make a token useless, from now on."""
        return self._connection.ask("DELETE", f"/v1/tokens/{part('token', token_id)}", Token)

    # -- studies --------------------------------------------------------------------------------

    def create_study(
        self,
        name: str,
        models: Mapping[str, float | None] | Sequence[str],
        *,
        dataset: str = "",
        metric: str = "score",
        weight: float = 1.0,
        floor: float = 0.0,
        rows: int | None = None,
        columns: int | None = None,
        stop: StopRules | None = None,
        tenant: str | None = None,
    ) -> Study:
        """Make a study; `models` may map each to its expected device time (None: to be learned)."""
        body = asked(
            StudyCreate,
            name=name,
            models=dict(models) if isinstance(models, Mapping) else list(models),
            dataset=dataset,
            metric=metric,
            weight=weight,
            floor=floor,
            rows=rows,
            columns=columns,
            stop=stop or StopRules(),
            tenant=tenant,
        )
        return self._post("/v1/studies", Study, body)

    def studies(self, state: str | None = None) -> Iterator[Study]:
        """All studies, or those that are open, paused or closed."""
        return self._items("/v1/studies", Study, {"state": state, "limit": 1000})

    def study(self, study_id: str) -> Study:
        """One study."""
        return self._get(f"/v1/studies/{part('study', study_id)}", Study)

    def candidates(self, study_id: str) -> list[Candidate]:
        """A study's models, and what is known and believed of them."""
        return list(self._items(f"/v1/studies/{part('study', study_id)}/candidates", Candidate))

    def pause_study(self, study_id: str) -> Study:
        """Start no more trials of the study for now; those that run go on."""
        return self._post(f"/v1/studies/{part('study', study_id)}/pause", Study)

    def resume_study(self, study_id: str) -> Study:
        """Take a paused study up again."""
        return self._post(f"/v1/studies/{part('study', study_id)}/resume", Study)

    def close_study(self, study_id: str) -> Study:
        """End a study for good."""
        return self._post(f"/v1/studies/{part('study', study_id)}/close", Study)

    # -- devices, and the trials they run -------------------------------------------------------

    def register_device(self, name: str, kind: str = "") -> Device:
        """A device joins, or joins again: then the trial that it ran, if any, is lost."""
        return self._post("/v1/devices", Device, asked(DeviceCreate, name=name, kind=kind))

    def devices(self) -> list[Device]:
        """All devices."""
        return list(self._items("/v1/devices", Device))

    def device(self, name: str) -> Device:
        """One device."""
        return self._get(f"/v1/devices/{part('device', name)}", Device)

    def leave_device(self, name: str) -> Device:
        """A device leaves; the trial that it ran, if any, is lost."""
        return self._post(f"/v1/devices/{part('device', name)}/leave", Device)

    def lease(self, device: str, wait: float = 0.0, key: str | None = None) -> Lease | None:
        """What an idle device is to run, or None when nothing was found within `wait` seconds.

        Who repeats a call that failed gives the same `key` again: then it is one lease.
        """
        path = f"/v1/devices/{part('device', device)}/lease"
        body = asked(LeaseRequest, wait=wait).model_dump_json().encode()
        timeout = self._connection.timeout + wait
        reply = self._connection.send("POST", path, body, key=key or str(uuid4()), timeout=timeout)
        return understood(self.server, reply, Lease) if reply else None

    def heartbeat(
        self,
        trial_id: str,
        fence: int,
        timeout: float | None = None,
        *,
        progress: float | None = None,
        scores: Sequence[float] = (),
    ) -> Renewal:
        """Renew the lease of a trial that runs; say how far it is, and its scores so far."""
        said = _said(progress=progress, scores=list(scores))
        body = asked(Heartbeat, fence=fence, **said)
        return self._report(trial_id, "heartbeat", Renewal, body, timeout)

    def complete(
        self,
        trial_id: str,
        fence: int,
        score: float,
        key: str | None = None,
        timeout: float | None = None,
        *,
        metrics: Mapping[str, float] | None = None,
        scores: Sequence[float] = (),
    ) -> Trial:
        """Report a trial's score, with other figures of it and its scores on the way."""
        said = _said(metrics=dict(metrics or {}), scores=list(scores))
        body = asked(Complete, fence=fence, score=score, **said)
        return self._report(trial_id, "complete", Trial, body, timeout, key)

    def fail(
        self,
        trial_id: str,
        fence: int,
        reason: str = "",
        final: bool = False,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Trial:
        """Report that a trial ended without a score; unless `final`, it may be tried again."""
        body = asked(Fail, fence=fence, reason=reason[-LONGEST_TEXT:], final=final)
        return self._report(trial_id, "fail", Trial, body, timeout, key)

    def release(
        self, trial_id: str, fence: int, key: str | None = None, timeout: float | None = None
    ) -> Trial:
        """Give a trial back untried; this does not count as an attempt."""
        body = asked(Release, fence=fence)
        return self._report(trial_id, "release", Trial, body, timeout, key)

    def trial_data(self, trial_id: str, timeout: float | None = None) -> Iterator[bytes]:
        """The file that a running trial trains on, piece by piece; `timeout` is for each piece."""
        seconds = self._connection.timeout if timeout is None else timeout
        path = f"/v1/trials/{part('trial', trial_id)}/data"
        with self._connection.stream(path, {}, httpx2.Timeout(seconds)) as response:
            yield from response.iter_bytes()

    def send_log(
        self, trial_id: str, fence: int, content: bytes, timeout: float | None = None
    ) -> None:
        """Keep what a trial printed; a later log takes the place of an earlier one."""
        self._connection.send(
            "PUT",
            f"/v1/trials/{part('trial', trial_id)}/log",
            content,
            content_type="text/plain; charset=utf-8",
            parameters={"fence": fence},
            timeout=timeout,
        )

    def trials(self, study: str | None = None, state: str | None = None) -> Iterator[Trial]:
        """All trials, or those of a study or in a state."""
        return self._items("/v1/trials", Trial, {"study": study, "state": state, "limit": 1000})

    def trial(self, trial_id: str) -> Trial:
        """One trial."""
        return self._get(f"/v1/trials/{part('trial', trial_id)}", Trial)

    # -- what happened, and why -----------------------------------------------------------------

    def decisions(self, study: str | None = None) -> Iterator[Decision]:
        """All decisions, or those of a study."""
        return self._items("/v1/decisions", Decision, {"study": study, "limit": 100})

    def decision(self, trial_id: str) -> Decision:
        """The decision that started a trial."""
        return self._get(f"/v1/decisions/{part('decision', trial_id)}", Decision)

    def import_history(self, source: str | Path) -> HistoryImported:
        """Take in past runs: CSV text, or a file, with the columns study,model,score[,cost]."""
        content = source.read_bytes() if isinstance(source, Path) else source.encode()
        reply = self._connection.send(
            "POST",
            "/v1/history",
            content,
            content_type="text/csv; charset=utf-8",
            key=str(uuid4()),
            timeout=max(LONG, self._connection.timeout),
        )
        return understood(self.server, reply, HistoryImported)

    def export_history(self) -> str:
        """All past runs as CSV text."""
        timeout = max(LONG, self._connection.timeout)
        reply = self._connection.send("GET", "/v1/history", timeout=timeout)
        try:
            return reply.decode()
        except UnicodeDecodeError:
            raise ServiceError(f"{self.server} answered what is no text") from None

    def overview(self) -> Overview:
        """The pool, or a tenant's part of it, at a glance."""
        return self._get("/v1/overview", Overview)

    def events(self, last_id: str | None = None) -> Iterator[Event]:
        """What happens, as it happens, without end; from after `last_id`, if given.

        A broken stream is taken up where it was; only when the server stays away for longer than
        `patience` does this raise.
        """
        if last_id is not None and not (last_id.isascii() and last_id.isprintable()):
            raise InvalidInput(f"{last_id!r} is no id of an event; use one that an event had")
        return follow(self._connection, last_id)

    def log(self, after: int = 0) -> Iterator[LogRecord]:
        """The event log from after a sequence number: who did what, when. For admins."""
        return self._items("/v1/log", LogRecord, {"after": after})

    # -- how it is sent -------------------------------------------------------------------------

    def _get(self, path: str, answer: type[Model]) -> Model:
        return self._connection.ask("GET", path, answer)

    def _post(self, path: str, answer: type[Model], body: BaseModel | None = None) -> Model:
        return self._connection.ask("POST", path, answer, body, key=str(uuid4()))

    def _report(
        self,
        trial_id: str,
        verb: str,
        answer: type[Model],
        body: BaseModel,
        timeout: float | None,
        key: str | None = None,
    ) -> Model:
        path = f"/v1/trials/{part('trial', trial_id)}/{verb}"
        key = key or str(uuid4())
        return self._connection.ask("POST", path, answer, body, key=key, timeout=timeout)

    def _items(
        self, path: str, item: type[Model], parameters: Parameters | None = None
    ) -> Iterator[Model]:
        given: dict[str, Any] = dict(parameters or {})
        page: type[Page[Any]] = Page[item]  # type: ignore[valid-type]
        while True:
            answer = self._connection.ask("GET", path, page, parameters=given)
            yield from answer.items
            if answer.next is None:
                return
            if answer.next == given.get("after"):
                raise ServiceError(f"{self.server} gives the same page again and again")
            given["after"] = answer.next


def _said(**fields: object) -> dict[str, object]:
    """What there is to say: a body without the rest is one that an older server knows, too."""
    return {name: value for name, value in fields.items() if value or value == 0.0}
