"""The API is what /v1/openapi.json says, for what it takes and for what it answers."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from support.service_app import Service, serving
from support.service_exchange import Answer

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_schema_conformance,
]  # fmt: skip


class Target:
    """One service for all the cases, with something of everything in it."""

    def __init__(self, service: Service):
        self.service = service
        tenant, device = service.tenant("a"), service.device("gpu")
        self.study = service.study(tenant, models=200)
        self.dataset = service.dataset(tenant)["id"]
        over = {"dataset": self.dataset, "target": "kind"}
        body = {"name": "over data", "data": over}
        self.over = service.post("/v1/studies", body, tenant).ok(201)["id"]
        service.report(device, service.lease(device), score=0.5).ok()
        self.trial = service.lease(device)["trial"]
        self.whatif = service.post("/v1/whatif", {"draws": 1}).ok(202)["id"]


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with serving() as service:
        yield Target(service)


def load() -> Any:
    with serving() as service:
        document = service.request("GET", "/v1/openapi.json", token=None).ok()
    # A stream has no end; it has tests of its own.
    del document["paths"]["/v1/events"]
    # Each of many questions would be computed; it has tests of its own.
    del document["paths"]["/v1/whatif"]["post"]
    # An upload is looked into by a process, which takes its time; it has tests of its own.
    del document["paths"]["/v1/datasets"]["post"]
    return schemathesis.openapi.from_dict(document)


schema = load()


@schema.parametrize()  # type: ignore[untyped-decorator]
@settings(
    max_examples=12, derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_the_schema_holds(case: Any, target: Target) -> None:
    for name in ("study", "trial", "decision", "device", "tenant", "dataset", "whatif"):
        if name in case.path_parameters and len(str(case.path_parameters[name])) % 2:
            known = {"study": target.study, "trial": target.trial, "decision": target.trial,
                     "device": "gpu", "tenant": "a", "dataset": target.dataset,
                     "whatif": target.whatif}  # fmt: skip
            case.path_parameters[name] = known[name]
    if case.method == "DELETE":
        case.path_parameters.update(token="0123456789ab", dataset="d_0")  # it shall go on
    response = send(target.service, case)
    case.validate_response(response, checks=CHECKS)


def send(service: Service, case: Any) -> Any:
    """The case as a request to the app, and its answer as schemathesis knows answers."""
    prepared = requests.Request(**case.as_transport_kwargs(base_url="http://testserver")).prepare()
    url = urlsplit(str(prepared.url))
    body: Any = prepared.body or b""
    headers = {str(name).lower(): _text(value) for name, value in prepared.headers.items()}
    headers["authorization"] = f"Bearer {service.admin}"
    answer: Answer = service.request(
        prepared.method or "GET",
        unquote(url.path),
        body if isinstance(body, bytes) else body.encode(),
        headers=headers,
        query=url.query,
    )
    return schemathesis.Response(
        status_code=answer.status,
        headers={name: [value] for name, value in answer.headers.items()},
        content=answer.body,
        request=prepared,
        elapsed=0.0,
        verify=True,
    )


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def test_every_kind_of_answer_has_its_schema(service: Service) -> None:
    """One of each that works, since random requests seldom do."""
    target = Target(service)
    for path in ("/v1/tenants", "/v1/tokens", "/v1/studies", "/v1/trials", "/v1/decisions",
                 "/v1/devices", "/v1/overview", "/v1/log", "/v1/history",
                 "/v1/studies/{study}", "/v1/studies/{study}/candidates", "/v1/trials/{trial}",
                 "/v1/decisions/{decision}", "/v1/devices/{device}", "/v1/tenants/{tenant}",
                 "/v1/datasets", "/v1/datasets/{dataset}", "/v1/algorithms", "/v1/metrics",
                 "/v1/costs", "/v1/studies/{over}/record", "/v1/studies/{over}/candidates",
                 "/v1/studies/{over}", "/v1/trend", "/v1/timeline", "/v1/heatmap",
                 "/v1/studies/{study}/next", "/v1/studies/{over}/next",
                 "/v1/whatif", "/v1/whatif/{whatif}"):  # fmt: skip
        case = schema[path.replace("{over}", "{study}")]["GET"].Case(
            path_parameters={
                "study": target.over if "{over}" in path else target.study,
                "trial": target.trial, "decision": target.trial,
                "device": "gpu", "tenant": "a", "dataset": target.dataset,
                "whatif": target.whatif,
            }
        )  # fmt: skip
        response = send(service, case)
        assert response.status_code == 200, path
        case.validate_response(response, checks=CHECKS)
