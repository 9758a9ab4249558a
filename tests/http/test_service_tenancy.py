"""What is not yours answers as what does not exist, on every route that there is."""

import json
import re
from typing import Any

import pytest
from support.service_app import Service, api_routes
from support.service_exchange import Answer

# The bodies that routes with a parameter take; a route that is not here, or has no rule below, is
# one that nobody thought about.
BODIES: dict[tuple[str, str], Any] = {
    ("GET", "/v1/tenants/{tenant}"): None,
    ("PATCH", "/v1/tenants/{tenant}"): {"weight": 2.0},
    ("DELETE", "/v1/tokens/{token}"): None,
    ("GET", "/v1/studies/{study}"): None,
    ("GET", "/v1/studies/{study}/candidates"): None,
    ("POST", "/v1/studies/{study}/pause"): None,
    ("POST", "/v1/studies/{study}/resume"): None,
    ("POST", "/v1/studies/{study}/close"): None,
    ("GET", "/v1/studies/{study}/record"): None,
    ("GET", "/v1/studies/{study}/script"): None,
    ("GET", "/v1/studies/{study}/next"): None,
    ("GET", "/v1/trials/{trial}"): None,
    ("GET", "/v1/trials/{trial}/log"): None,
    ("GET", "/v1/trials/{trial}/data"): None,
    ("PUT", "/v1/trials/{trial}/log"): b"printed",
    ("GET", "/v1/datasets/{dataset}"): None,
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
# Routes without a parameter: what a stranger's answer must not hold (all of the owner's names).
PLAIN = {
    ("GET", "/v1/tenants"), ("GET", "/v1/tokens"), ("GET", "/v1/studies"), ("GET", "/v1/trials"),
    ("GET", "/v1/decisions"), ("GET", "/v1/devices"), ("GET", "/v1/history"), ("GET", "/v1/log"),
    ("GET", "/v1/overview"), ("GET", "/v1/events"), ("POST", "/v1/tenants"),
    ("POST", "/v1/tokens"), ("POST", "/v1/studies"), ("POST", "/v1/devices"),
    ("POST", "/v1/history"), ("GET", "/v1/datasets"), ("POST", "/v1/datasets"),
    ("GET", "/v1/algorithms"), ("GET", "/v1/metrics"), ("GET", "/v1/costs"),
    ("GET", "/v1/session"), ("POST", "/v1/session"), ("DELETE", "/v1/session"),
    ("GET", "/v1/trend"), ("GET", "/v1/timeline"), ("GET", "/v1/heatmap"),
    ("GET", "/v1/whatif"), ("POST", "/v1/whatif"),
}  # fmt: skip
QUERY = "fence=0"  # what one route wants, and the others do not mind
NOBODY = {
    "tenant": "nobody", "token": "0123456789ab", "study": "s_0123456789abcdef",
    "trial": "t_0123456789abcdef", "decision": "t_0123456789abcdef", "device": "nothing",
    "dataset": "d_0123456789abcdef", "whatif": "w_0123456789abcdef",
}  # fmt: skip


class World:
    """Two tenants and two runners, of which the first has everything that there is."""

    def __init__(self, service: Service):
        self.service = service
        self.owner, self.stranger = service.tenant("owner"), service.tenant("stranger")
        self.runner, self.other = service.device("own-device"), service.token("device")
        dataset = service.dataset(self.owner, "secret.csv")
        over = {"dataset": dataset["id"], "target": "kind"}
        body = {"name": "secret study", "data": over, "candidates": 3}
        study = service.post("/v1/studies", body, self.owner).ok(201)["id"]
        done = service.lease(self.runner, "own-device")
        service.report(self.runner, done, score=0.625).ok()
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


def told(answer: Answer, name: str) -> Any:
    """An answer without what differs anyway: the name asked for, and the request's id."""
    headers = {key: value for key, value in answer.headers.items() if key != "x-request-id"}
    headers.pop("content-length", None)
    body = re.sub(rb'"request":"[^"]*"', b"", answer.body).replace(name.encode(), b"NAME")
    return answer.status, headers, body


def test_every_route_has_a_rule(service: Service) -> None:
    assert set(api_routes(service.app)) == set(BODIES) | PLAIN


def test_what_is_anothers_answers_as_what_does_not_exist(world: World) -> None:
    service = world.service
    head = service.pool.sequence
    for token in (world.stranger, world.other):
        for (method, path), body in BODIES.items():
            kind = path.split("{")[1].split("}")[0]
            answers = []
            for name in (world.ids[kind], NOBODY[kind]):
                address = path.format(**{kind: name})
                answer = service.request(method, address, body, token=token, query=QUERY)
                answers.append(told(answer, name))
            assert answers[0] == answers[1], (method, path)
            assert answers[0][0] in (403, 404), (method, path, answers[0])
    assert service.pool.sequence == head
    # The rule is no empty one: to the owner all of it exists.
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
            answer = service.request("GET", path, token=token)
            assert answer.status in (200, 403), path
            for secret in world.secrets:
                assert secret.encode() not in answer.body, (path, secret)
    for path in ("/v1/trials", "/v1/decisions"):
        for study in (world.ids["study"], NOBODY["study"]):
            answer = service.request("GET", path, token=world.stranger, query=f"study={study}")
            assert told(answer, study)[0] == 404
            assert told(answer, study)[2].count(b"NAME") == 1
    page = f"after={world.ids['trial']}"
    nobody = f"after={NOBODY['trial']}"
    one, other = (service.request("GET", "/v1/trials", token=world.stranger, query=query)
                  for query in (page, nobody))  # fmt: skip
    assert told(one, world.ids["trial"]) == told(other, NOBODY["trial"])


def test_names_of_studies_and_datasets_are_each_tenants_own(world: World) -> None:
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


def test_a_stranger_sees_its_own_as_if_it_were_alone(world: World) -> None:
    """Numbers of a tenant's stream have no gaps; decisions are redacted; no shares."""
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
        about = json.dumps([decision["gains"], decision["runners_up"], decision["changes"]])
        # Not the score: what is expected of a model is learned from everybody's.
        for secret in set(world.secrets) - {"0.625"}:
            assert secret not in about
        assert {other["study"] for other in decision["runners_up"]} <= {study}
    # What the operator sees does name others, so there was something to hide.
    everything = json.dumps(service.get("/v1/decisions")["items"])
    assert "owner" in everything


def test_ids_tell_nothing_of_how_many_there_are(service: Service) -> None:
    tenant = service.tenant("a")
    ids = [service.study(tenant, f"s{number}") for number in range(20)]
    assert all(re.fullmatch(r"s_[0-9a-f]{16}", name) for name in ids)
    assert ids != sorted(ids)
    trial = service.lease(service.device())["trial"]
    assert "fence" not in service.get(f"/v1/trials/{trial}", tenant)


def test_without_a_good_token_nothing_is_told(world: World) -> None:
    service = world.service
    bad = [None, "nonsense", "bth_" + "0" * 12 + "_" + "0" * 64, world.owner[:-1] + "x",
           world.owner.upper()]  # fmt: skip
    for token in bad:
        for method, path in api_routes(service.app):
            body = BODIES.get((method, path))
            if (method, path) == ("POST", "/v1/session"):
                body = {"token": token or ""}
            answer = service.request(method, path.format(**world.ids), body, token=token)
            if method == "POST" and path in ("/v1/tenants", "/v1/tokens", "/v1/studies",
                                             "/v1/devices"):  # fmt: skip
                assert answer.status in (401, 422)  # a body is looked at first
            elif (method, path, token) == ("GET", "/v1/session", None):
                assert (answer.status, answer.body) == (204, b"")  # who asks is nobody
            else:
                assert answer.status == 401, (method, path)
                assert answer.headers["www-authenticate"] == "Bearer"
