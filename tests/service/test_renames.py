"""Studies and datasets are renamed; what refers to them by their ids keeps working."""

import pytest
from support.service_app import Service


def test_a_study_is_renamed(service: Service) -> None:
    token, other = service.tenant("a"), service.tenant("b")
    first, second = service.study(token, "first"), service.study(token, "second")
    service.study(other, "third")
    path = f"/v1/studies/{first}"
    renamed = service.request("PATCH", path, {"name": "third"}, token=token).ok()
    assert (renamed["id"], renamed["name"]) == (first, "third")
    service.request("PATCH", path, {"name": "second"}, token=token).refused(409, "already exists")
    assert service.request("PATCH", path, {"name": "third"}, token=token).ok() == renamed
    service.request("PATCH", path, {"name": " "}, token=token).refused(422)
    service.request("PATCH", path, {"name": "x"}, token=other).refused(404)
    service.study(token, "first")  # the old name is free again
    service.restart()
    listed = service.get("/v1/studies", token)["items"]
    assert [each["name"] for each in listed] == ["first", "second", "third"]
    assert [each["id"] for each in listed][1:] == [second, first]


@pytest.mark.outside
def test_a_dataset_is_renamed_with_the_studies_on_it(service: Service) -> None:
    token, other = service.tenant("a"), service.tenant("b")
    study = service.data_study(token)
    dataset = service.get("/v1/datasets", token)["items"][0]
    path = f"/v1/datasets/{dataset['id']}"
    body = {"name": "renamed.csv"}
    service.request("PATCH", path, body, token=other).refused(404)
    assert service.request("PATCH", path, body, token=token).ok()["name"] == "renamed.csv"
    service.restart()
    assert service.get(f"/v1/studies/{study['id']}", token)["data"] == "renamed.csv"
    again = service.dataset(token, dataset["name"])
    assert again["id"] != dataset["id"]
    taken = service.request("PATCH", path, {"name": dataset["name"]}, token=token)
    taken.refused(409, "already exists")
    shared = service.dataset(service.admin, "shared.csv")
    path = f"/v1/datasets/{shared['id']}"
    service.request("PATCH", path, body, token=token).refused(409, "only an operator can rename it")
    assert service.request("PATCH", path, body).ok()["name"] == "renamed.csv"


def test_what_a_study_gained_lately(service: Service) -> None:
    token, device = service.tenant("a"), service.device()
    study = service.study(token, models=4, floor=0.5)

    def gained() -> tuple[float, float]:
        found = service.get(f"/v1/studies/{study}", token)["gained"]
        return round(found["last_hour"], 6), round(found["last_day"], 6)

    assert gained() == (0.0, 0.0)
    service.report(device, service.lease(device), score=0.6).ok()
    assert gained() == (0.1, 0.1)
    service.clock.advance(7200.0)
    device = service.device()  # idle devices leave
    service.report(device, service.lease(device), score=0.7).ok()
    service.report(device, service.lease(device), score=0.65).ok()
    assert gained() == (0.1, 0.2)
    service.clock.advance(90_000.0)
    assert gained() == (0.0, 0.0)
