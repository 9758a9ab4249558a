"""Every call of the live service's API, typed.

with Client("http://127.0.0.1:8642", token) as client:
    wine = client.add_dataset("wine.csv", Path("wine.csv"))
    study = client.create_study("wine", dataset=wine, target="target")
    print(client.wait(study).incumbent)
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx2

from bentham.client.answers import parse_answer
from bentham.client.calls import LONG
from bentham.client.connection import Connection, request_body, segment
from bentham.client.datasets import DataCalls
from bentham.client.devices import DeviceCalls
from bentham.client.events import StreamedEvent, follow
from bentham.client.overview import OverviewCalls
from bentham.client.studies import StudyCalls
from bentham.errors import InvalidInput
from bentham.wire import (
    DecisionView,
    ImportSummary,
    IssuedToken,
    Limits,
    LogRecord,
    TenantChange,
    TenantCreate,
    TenantView,
    TokenCreate,
    TokenView,
    WhatIf,
    WhatIfCreate,
)


class Client(StudyCalls, DataCalls, DeviceCalls, OverviewCalls):
    """Client for the server at an address such as http://127.0.0.1:8642.

    A request may take `timeout` seconds. If the connection fails or the server is busy, the request
    is retried for up to `patience` seconds in total; the server never executes it twice. Failures
    raise `bentham.errors.ServiceError` or a subclass. Threads may share a client.
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
        super().__init__(Connection(server, token, timeout, patience, transport))

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

    def create_tenant(
        self, name: str, weight: float = 1.0, limits: Limits | None = None
    ) -> TenantView:
        """Create a tenant."""
        body = request_body(TenantCreate, name=name, weight=weight, limits=limits or Limits())
        return self._post("/v1/tenants", TenantView, body)

    def tenants(self) -> list[TenantView]:
        """Return all tenants."""
        return list(self._items("/v1/tenants", TenantView))

    def tenant(self, name: str) -> TenantView:
        """Return one tenant."""
        return self._get(f"/v1/tenants/{segment('tenant', name)}", TenantView)

    def change_tenant(
        self, name: str, *, weight: float | None = None, limits: Limits | None = None
    ) -> TenantView:
        """Change the weight, the limits or both; `limits` replaces all limits."""
        fields = {"weight": weight, "limits": limits}
        changed = {name: value for name, value in fields.items() if value is not None}
        body = request_body(TenantChange, **changed)
        path = f"/v1/tenants/{segment('tenant', name)}"
        return self._connection.ask("PATCH", path, TenantView, body)

    def issue_token(
        self,
        role: str,
        tenant: str | None = None,
        label: str = "",
        expires_in: float | None = None,
    ) -> IssuedToken:
        """Create a token for an admin, a tenant or a device; only this call returns its secret.

        `expires_in` is its lifetime in seconds; by default it does not expire.
        """
        body = request_body(
            TokenCreate, role=role, tenant=tenant, label=label, expires_in=expires_in
        )
        return self._post("/v1/tokens", IssuedToken, body)

    def tokens(self) -> list[TokenView]:
        """Return all tokens, without their secrets."""
        return list(self._items("/v1/tokens", TokenView))

    def revoke_token(self, token_id: str) -> TokenView:
        """Revoke a token, immediately and permanently."""
        return self._connection.ask("DELETE", f"/v1/tokens/{segment('token', token_id)}", TokenView)

    # -- decisions and history ------------------------------------------------------------------

    def decisions(self, study: str | None = None) -> Iterator[DecisionView]:
        """Iterate over all decisions, or those of a study."""
        return self._items("/v1/decisions", DecisionView, {"study": study, "limit": 100})

    def decision(self, trial_id: str) -> DecisionView:
        """Return the decision that started a trial."""
        return self._get(f"/v1/decisions/{segment('decision', trial_id)}", DecisionView)

    def import_history(self, source: str | Path) -> ImportSummary:
        """Import past runs from CSV text or a file, with the columns study,model,score[,cost]."""
        content = source.read_bytes() if isinstance(source, Path) else source.encode()
        reply = self._connection.send(
            "POST",
            "/v1/history",
            content,
            content_type="text/csv; charset=utf-8",
            key=str(uuid4()),
            timeout=max(LONG, self._connection.timeout),
        )
        return parse_answer(self.server, reply, ImportSummary)

    def export_history(self) -> str:
        """Return all past runs as CSV text."""
        return self._text("/v1/history")

    # -- what if --------------------------------------------------------------------------------

    def ask_what_if(
        self, regret: float | None = None, devices: int | None = None, draws: int = 16
    ) -> WhatIf:
        """Estimate when mean regret would fall below a level with `devices` devices. For admins.

        The estimate is computed in the background: poll it with `what_if` until it is complete.
        """
        body = request_body(WhatIfCreate, regret=regret, devices=devices, draws=draws)
        return self._post("/v1/whatif", WhatIf, body)

    def what_ifs(self) -> list[WhatIf]:
        """Return the latest what-if jobs, newest first, without curves. For admins."""
        return list(self._items("/v1/whatif", WhatIf))

    def what_if(self, what_if_id: str) -> WhatIf:
        """Return one what-if job with its results so far. For admins."""
        return self._get(f"/v1/whatif/{segment('what-if', what_if_id)}", WhatIf)

    def cancel_what_if(self, what_if_id: str) -> WhatIf:
        """Cancel a what-if job. For admins."""
        return self._connection.ask(
            "DELETE", f"/v1/whatif/{segment('what-if', what_if_id)}", WhatIf
        )

    # -- events ---------------------------------------------------------------------------------

    def events(self, last_id: str | None = None) -> Iterator[StreamedEvent]:
        """Iterate over events as they happen, without end; with `last_id`, from after that event.

        A broken stream is resumed after the last event. Raises only if the server is unavailable
        for longer than `patience`.
        """
        if last_id is not None and not (last_id.isascii() and last_id.isprintable()):
            raise InvalidInput(
                f"{last_id!r} is not the id of an event; use the id of a received event"
            )
        return follow(self._connection, last_id)

    def log(self, after: int = 0) -> Iterator[LogRecord]:
        """Iterate over the event log after a sequence number: who did what, when. For admins."""
        return self._items("/v1/log", LogRecord, {"after": after})
