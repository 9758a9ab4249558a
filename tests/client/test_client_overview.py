"""The client's views of the service, against the real app."""

import httpx2
from support.clients import mocked
from support.service_app import Service

from bentham.client import Client


def client_of(service: Service, token: str) -> Client:
    def handler(request: httpx2.Request) -> httpx2.Response:
        query = request.url.query.decode()
        response = service.request(request.method, request.url.path, token=token, query=query)
        return httpx2.Response(response.status, content=response.body)

    return mocked(handler)


def test_every_view(service: Service) -> None:
    tenant, device = service.tenant("a"), service.device()
    studies = [service.study(tenant, f"s{number}", 3) for number in range(3)]
    lease = service.lease(device)
    service.clock.advance(5.0)
    service.report(device, lease, score=0.5).ok()
    for token in (tenant, service.admin):
        client = client_of(service, token)
        assert client.overview().happiness > 0.0
        assert len(client.trend(points=10).regret) == 10
        assert len(client.trend(2.0).times) == 300
        assert [trial.id for trial in client.timeline().trials] == [lease["trial"]]
        assert client.timeline(limit=1).devices[0].name == "gpu"
        everything = client.heatmap()
        assert [row.study for row in everything.items] == studies[::-1]
        first = client.heatmap(limit=1)
        assert [row.study for row in client.heatmap(after=first.next).items] == studies[1::-1]
        assert [row.study for row in client.heatmap([studies[0], "nothing"]).items] == [studies[0]]
        assert client.next_model(studies[0]).model in service.pool.studies[studies[0]].models
    assert client_of(service, service.admin).trend().round_robin is not None
    assert client_of(service, tenant).trend().round_robin is None
