"""On every route, entities of others get the same response as missing ones."""

import json
import re
from typing import Any

import pytest
from support.service_app import Service, api_routes
from support.service_exchange import Answer

pytestmark = pytest.mark.outside

# The bodies of routes with a parameter. Every route must be here or in PLAIN.
BODIES: dict[tuple[str, str], Any] = {
    ("GET", "/v1/tenants/{tenant}"): None,
    ("PATCH", "/v1/tenants/{tenant}"): {"weight": 2.0},
    ("DELETE", "/v1/tokens/{token}"): None,
    ("GET", "/v1/studies/{study}"): None,
    ("PATCH", "/v1/studies/{study}"): {"name": "another"},
    ("GET", "/v1/studies/{study}/candidates"): None,
    ("POST", "/v1/studies/{study}/pause"): None,
    ("POST", "/v1/studies/{study}/resume"): None,
    ("POST", "/v1/studies/{study}/close"): None,
    ("POST", "/v1/studies/{study}/reopen"): None,
    ("GET", "/v1/studies/{study}/record"): None,
    ("GET", "/v1/studies/{study}/script"): None,
    ("GET", "/v1/studies/{study}/next"): None,
    ("GET", "/v1/studies/{study}/best"): None,
    ("POST", "/v1/studies/{study}/fitted"): {},
    ("GET", "/v1/studies/{study}/fitted"): None,
    ("GET", "/v1/studies/{study}/fitted/file"): None,
    ("GET", "/v1/trials/{trial}"): None,
    ("GET", "/v1/trials/{trial}/log"): None,
    ("GET", "/v1/trials/{trial}/data"): None,
    ("PUT", "/v1/trials/{trial}/log"): b"printed",
    ("PUT", "/v1/trials/{trial}/model"): b"fitted",
    ("GET", "/v1/datasets/{dataset}"): None,
    ("PATCH", "/v1/datasets/{dataset}"): {"name": "another"},
    ("GET", "/v1/datasets/{dataset}/content"): None,
    ("DELETE", "/v1/datasets/{dataset}"): None,
    ("GET", "/v1/decisions/{decision}"): None,
    ("GET", "/v1/devices/{device}"): None,
    ("POST", "/v1/devices/{device}/leave"): None,
    ("POST", "/v1/devices/{device}/lease"): {},
    ("POST", "/v1/trials/{trial}/heartbeat"): {"fence": 0},
    ("POST", "/v1/trials/{trial}/complete"): {"fence": 0, "score": 1.0},
    ("POST", "/v1/trials/{trial}/fail"): {"fence": 0},
    ("POST", "/v1/trials/{trial}/release"): {"fence": 0},
    ("GET", "/v1/whatif/{whatif}"): None,
    ("DELETE", "/v1/whatif/{whatif}"): None,
}
# Routes without a parameter: a stranger's response must contain none of the owner's names.
PLAIN = {
    ("GET", "/v1/tenants"), ("GET", "/v1/tokens"), ("GET", "/v1/studies"), ("GET", "/v1/trials"),
    ("GET", "/v1/decisions"), ("GET", "/v1/devices"), ("GET", "/v1/history"), ("GET", "/v1/log"),
    ("GET", "/v1/overview"), ("GET", "/v1/status"), ("GET", "/v1/events"), ("POST", "/v1/tenants"),
    ("POST", "/v1/tokens"), ("POST", "/v1/studies"), ("POST", "/v1/devices"),
    ("POST", "/v1/history"), ("GET", "/v1/datasets"), ("POST", "/v1/datasets"),
    ("GET", "/v1/algorithms"), ("GET", "/v1/metrics"), ("GET", "/v1/costs"),
    ("GET", "/v1/session"), ("POST", "/v1/session"), ("DELETE", "/v1/session"),
    ("GET", "/v1/trend"), ("GET", "/v1/timeline"), ("GET", "/v1/heatmap"),
    ("GET", "/v1/whatif"), ("POST", "/v1/whatif"),
}  # fmt: skip
QUERY = "fence=0"  # required by one route, ignored by the others
MISSING = {
    "tenant": "nobody", "token": "0123456789ab", "study": "s_0123456789abcdef",
    "trial": "t_0123456789abcdef", "decision": "t_0123456789abcdef", "device": "nothing",
    "dataset": "d_0123456789abcdef", "whatif": "w_0123456789abcdef",
}  # fmt: skip


class World:
    """Two tenants and two runners; all entities belong to the first of each."""

    def __init__(self, service: Service):
        self.service = service
        self.owner, self.stranger = service.tenant("owner"), service.tenant("stranger")
        self.runner, self.other = service.device("own-device"), service.token("device")
        dataset = service.dataset(self.owner, "secret.csv")
        data = {"dataset": dataset["id"], "target": "kind"}
        body = {"name": "secret study", "data": data, "candidates": 3}
        study = service.post("/v1/studies", body, self.owner).ok(201)["id"]
        done = service.lease(self.runner, "own-device")
        service.report(self.runner, done, score=0.625).ok()
        service.post(f"/v1/studies/{study}/fitted", {}, self.owner).ok()
        fit = service.lease(self.runner, "own-device")
        service.request(
            "PUT", f"/v1/trials/{fit['trial']}/model", b"PK secret", token=self.runner,
            query=f"fence={fit['fence']}",
        ).ok()  # fmt: skip
        lease = service.lease(self.runner, "own-device")
        service.request(
            "PUT", f"/v1/trials/{lease['trial']}/log", b"secret", token=self.runner,
            query=f"fence={lease['fence']}",
        ).ok(204)  # fmt: skip
        self.ids = {
            "tenant": "owner", "token": self.owner.split("_")[1], "study": study,
            "trial": lease["trial"], "decision": lease["trial"], "device": "own-device",
            "dataset": dataset["id"],
            "whatif": service.post("/v1/whatif", {"draws": 1}).ok(202)["id"],
        }  # fmt: skip
        self.secrets = ["owner", "secret", "own-device", "0.625", study, done["trial"],
                        *self.ids.values()]  # fmt: skip


@pytest.fixture
def world(service: Service) -> World:
    return World(service)


def comparable(response: Answer, name: str) -> Any:
    """Return a response without what always differs: the requested name and the request id."""
    headers = {key: value for key, value in response.headers.items() if key != "x-request-id"}
    headers.pop("content-length", None)
    body = re.sub(rb'"request":"[^"]*"', b"", response.body).replace(name.encode(), b"NAME")
    return response.status, headers, body


def test_every_route_has_a_rule(service: Service) -> None:
    assert set(api_routes(service.app)) == set(BODIES) | PLAIN


def test_entities_of_others_look_like_missing_ones(world: World) -> None:
    service = world.service
    head = service.pool.sequence
    for token in (world.stranger, world.other):
        for (method, path), body in BODIES.items():
            kind = path.split("{")[1].split("}")[0]
            responses = []
            for name in (world.ids[kind], MISSING[kind]):
                address = path.format(**{kind: name})
                response = service.request(method, address, body, token=token, query=QUERY)
                responses.append(comparable(response, name))
            assert responses[0] == responses[1], (method, path)
            assert responses[0][0] in (403, 404), (method, path, responses[0])
    assert service.pool.sequence == head
    # All of it exists for the owner, so the comparison means something.
    for (method, path), body in BODIES.items():
        if method == "GET":
            kind = path.split("{")[1].split("}")[0]
            token = world.runner if kind == "device" or path.endswith("/data") else world.owner
            token = service.admin if kind == "whatif" else token
            shown = service.request(method, path.format(**world.ids), body, token=token)
            assert shown.status == 200, (path, shown.body)


def test_lists_show_nothing_of_others(world: World) -> None:
    service = world.service
    for token in (world.stranger, world.other):
        for method, path in sorted(PLAIN - {("GET", "/v1/events"), ("GET", "/v1/session")}):
            if method != "GET":
                continue
            response = service.request("GET", path, token=token)
            assert response.status in (200, 403), path
            for secret in world.secrets:
                assert secret.encode() not in response.body, (path, secret)
    for path in ("/v1/trials", "/v1/decisions"):
        for study in (world.ids["study"], MISSING["study"]):
            response = service.request("GET", path, token=world.stranger, query=f"study={study}")
            assert comparable(response, study)[0] == 404
            assert comparable(response, study)[2].count(b"NAME") == 1
    page = f"after={world.ids['trial']}"
    missing = f"after={MISSING['trial']}"
    one, other = (service.request("GET", "/v1/trials", token=world.stranger, query=query)
                  for query in (page, missing))  # fmt: skip
    assert comparable(one, world.ids["trial"]) == comparable(other, MISSING["trial"])


def test_names_of_studies_and_datasets_are_separate_per_tenant(world: World) -> None:
    service = world.service
    study = service.study(world.stranger, "secret study", 3, dataset="secret data")
    shown = service.get(f"/v1/studies/{study}", world.stranger)
    assert (shown["incumbent"], shown["untried"]) == (None, 3)
    service.post(
        "/v1/studies", {"name": "x", "models": ["m0"], "tenant": "owner"}, world.stranger
    ).refused(404, "there is no tenant 'owner'")
    service.post(
        "/v1/studies", {"name": "x", "models": ["m0"], "tenant": "nobody"}, world.stranger
    ).refused(404, "there is no tenant 'nobody'")


def test_names_of_others_look_like_missing_ones(world: World) -> None:
    service = world.service
    names = {"study": ("secret study", "absent"), "dataset": ("secret.csv", "absent.csv")}
    wanted = [(rule, body) for rule, body in BODIES.items() if rule[1].split("{")[1][:4] in
              ("stud", "data")]  # fmt: skip
    head = service.pool.sequence
    assert len(wanted) > 15
    for (method, path), body in wanted:
        kind = path.split("{")[1].split("}")[0]
        for token in (world.stranger, world.other):
            one, other = (
                comparable(service.request(method, path.format(**{kind: name}), body, token=token,
                                           query=QUERY), name)
                for name in names[kind]
            )  # fmt: skip
            assert one == other, (method, path)
            assert one[0] in (403, 404), (method, path, one)
        # The owner is told the id, so there was something to hide.
        address = path.format(**{kind: names[kind][0]})
        service.request(method, address, body, token=world.owner).refused(404, world.ids[kind])
    for path in ("/v1/trials", "/v1/decisions"):
        one, other = (
            comparable(service.request("GET", path, token=world.stranger, query=f"study={name}"),
                       name)
            for name in ("secret%20study", "absent%20study")
        )  # fmt: skip
        assert one[0] == 404
        assert one[2].replace(b"secret", b"") == other[2].replace(b"absent", b"")
        service.request("GET", path, token=world.owner, query="study=secret%20study").refused(
            404, world.ids["study"]
        )
    assert service.pool.sequence == head


def test_a_name_gives_the_ids_of_what_the_caller_sees(world: World) -> None:
    service = world.service
    own = service.study(world.stranger, "secret study", 3)
    answer = service.request("GET", "/v1/studies/secret study", token=world.stranger)
    words = f"with the id 'secret study'; this is a name: use the id {own}"
    assert answer.refused(404)["detail"] == f"there is no study {words}"
    # An operator sees those of all tenants, but only the newest are listed.
    both = f"use the id {own} or {world.ids['study']}"
    assert service.request("GET", "/v1/studies/secret study").refused(404)["detail"].endswith(both)
    for number in range(3):
        service.study(service.tenant(f"more-{number}"), "secret study", 3)
    answer = service.request("GET", "/v1/studies/secret study")
    assert answer.refused(404, " or another")["detail"].count("s_") == 4
    # Shared datasets are everyone's.
    shared = service.dataset(service.admin, "shared.csv")["id"]
    answer = service.request("GET", "/v1/datasets/shared.csv", token=world.stranger)
    answer.refused(404, f"there is no dataset with the id 'shared.csv'; this is a name: use the "
                   f"id {shared}")  # fmt: skip


def test_suggestions_name_only_what_the_caller_sees(world: World) -> None:
    service = world.service
    service.request("GET", "/v1/tenants/ownr").refused(404, "did you mean 'owner'?")
    service.dataset(world.stranger, "stranger-rows.csv")
    held = service.get("/v1/datasets", world.owner)["items"][0]["name"]
    for token, name, words in (
        (world.owner, held[:-1], f"did you mean {held!r}?"),
        (world.owner, "stranger-row.csv", "GET /v1/datasets lists"),
        (world.stranger, "stranger-row.csv", "did you mean 'stranger-rows.csv'?"),
    ):
        data = {"dataset": name, "target": "y"}
        service.post("/v1/studies", {"name": "x", "data": data}, token).refused(404, words)
    tenants = {"name": "x", "models": ["m0"], "tenant": "ownr"}
    refusal = service.post("/v1/studies", tenants, world.stranger).refused(404, "'ownr'")
    assert "'owner'" not in str(refusal)


def test_a_tenant_sees_nothing_of_other_tenants(world: World) -> None:
    """Event numbers of a tenant have no gaps; decisions are redacted; shares are hidden."""
    service = world.service
    stream = service.begin("GET", "/v1/events", token=world.stranger)
    service.until(lambda: len(stream.chunks) > 0)
    study = service.study(world.stranger, "mine", {"m0": 1.0, "m7": 50.0})
    second = service.device("second", world.other)
    assert len(service.run_all(second, "second", lambda _: 0.1)) == 3
    service.request("PATCH", "/v1/tenants/owner", {"weight": 9.0}).ok()
    service.request("PATCH", "/v1/tenants/stranger", {"weight": 2.0}).ok()
    service.until(lambda: b"tenant-changed" in b"".join(stream.chunks))
    stream.hang_up()
    text = service.finish(stream).body.decode()
    numbers = [int(number) for number in re.findall(r"^id: (\d+)$", text, re.MULTILINE)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    for secret in world.secrets:
        assert secret not in text
    overview = service.get("/v1/overview", world.stranger)
    assert [(each["tenant"], each["share"]) for each in overview["tenants"]] == [("stranger", None)]
    assert overview["devices"] is None
    assert overview["queue"] == {"open_studies": 0, "untried_arms": 0}
    assert overview["decisions"] == 2
    for decision in service.get("/v1/decisions", world.stranger)["items"]:
        assert decision["tenant"] == "stranger"
        redacted = json.dumps([decision["gains"], decision["runners_up"], decision["changes"]])
        # Except the score: the prior is learned from the scores of all tenants.
        for secret in set(world.secrets) - {"0.625"}:
            assert secret not in redacted
        assert {other["study"] for other in decision["runners_up"]} <= {study}
    # The operator's view contains other names, so there was something to hide.
    everything = json.dumps(service.get("/v1/decisions")["items"])
    assert "owner" in everything


def test_ids_do_not_reveal_counts(service: Service) -> None:
    tenant = service.tenant("a")
    ids = [service.study(tenant, f"s{number}") for number in range(20)]
    assert all(re.fullmatch(r"s_[0-9a-f]{16}", name) for name in ids)
    assert ids != sorted(ids)
    trial = service.lease(service.device())["trial"]
    assert "fence" not in service.get(f"/v1/trials/{trial}", tenant)


def test_without_a_valid_token_nothing_is_shown(world: World) -> None:
    service = world.service
    bad = [None, "nonsense", "bth_" + "0" * 12 + "_" + "0" * 64, world.owner[:-1] + "x",
           world.owner.upper()]  # fmt: skip
    for token in bad:
        for method, path in api_routes(service.app):
            body = BODIES.get((method, path))
            if (method, path) == ("POST", "/v1/session"):
                body = {"token": token or ""}
            response = service.request(method, path.format(**world.ids), body, token=token)
            if method == "POST" and path in ("/v1/tenants", "/v1/tokens", "/v1/studies",
                                             "/v1/devices"):  # fmt: skip
                assert response.status in (401, 422)  # the body is validated first
            elif (method, path, token) == ("GET", "/v1/session", None):
                assert (response.status, response.body) == (204, b"")  # not signed in
            else:
                assert response.status == 401, (method, path)
                assert response.headers["www-authenticate"] == "Bearer"
