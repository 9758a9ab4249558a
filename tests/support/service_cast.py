"""What tests ask of a service: tenants, studies, devices and trials, however it is reached."""

from abc import ABC, abstractmethod
from typing import Any
from urllib.parse import quote

from support.service_exchange import Answer

# Two kinds of flowers, of which one is larger: 40 rows.
FLOWERS = b"length,width,kind\n" + b"".join(
    b"%d.%d,%d,%s\n" % (3 + row % 2 * 3, row % 7, row % 5, (b"small", b"large")[row % 2])
    for row in range(40)
)


class Cast(ABC):
    """The usual cast, by requests; the admin's, unless a token (or None) is given."""

    @abstractmethod
    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """One request, answered; `options`: token, key, headers and query."""

    def get(self, path: str, token: str | None = "", query: str = "") -> Any:
        return self.request("GET", path, token=token, query=query).ok()

    def post(self, path: str, body: Any = None, token: str | None = "", **more: Any) -> Answer:
        return self.request("POST", path, body, token=token, **more)

    def tenant(self, name: str, **more: Any) -> str:
        """A tenant; returns a token of its."""
        self.post("/v1/tenants", {"name": name, **more}).ok(201)
        return self.token("tenant", tenant=name)

    def token(self, role: str, **more: Any) -> str:
        secret: str = self.post("/v1/tokens", {"role": role, **more}).ok(201)["secret"]
        return secret

    def study(self, token: str, name: str = "s", models: Any = 3, **more: Any) -> str:
        """A study; `models` may be their number, each of cost 1. Returns its id."""
        if isinstance(models, int):
            models = {f"m{model}": 1.0 for model in range(models)}
        body = {"name": name, "models": models, **more}
        study: str = self.post("/v1/studies", body, token).ok(201)["id"]
        return study

    def dataset(
        self, token: str, name: str = "flowers.csv", content: bytes = b"", **more: Any
    ) -> Any:
        """A dataset of two kinds of flowers, unless its content is given."""
        query = "&".join(f"{key}={quote(value)}" for key, value in {"name": name, **more}.items())
        headers = {"content-type": "text/csv"}
        answer = self.post("/v1/datasets", content or FLOWERS, token, query=query, headers=headers)
        return answer.ok(201)

    def over(self, token: str, name: str = "a", **more: Any) -> Any:
        """A study over the flowers, of two candidates unless told otherwise."""
        dataset = self.dataset(token)
        data = {"dataset": dataset["id"], "target": "kind", **more.pop("data", {})}
        body = {"name": name, "data": data, "candidates": 2, **more}
        return self.post("/v1/studies", body, token).ok(201)

    def device(self, name: str = "gpu", token: str | None = None, kind: str = "") -> str:
        """A device; returns the token that speaks for it."""
        token = self.token("device") if token is None else token
        self.post("/v1/devices", {"name": name, "kind": kind}, token).ok(201)
        return token

    def lease(self, token: str, device: str = "gpu", **options: Any) -> Any:
        """A lease, None if there is nothing to run."""
        answer = self.post(f"/v1/devices/{device}/lease", {}, token, **options)
        return answer.ok(answer.status if answer.status == 204 else 200)

    def report(self, token: str, lease: Any, how: str = "complete", **more: Any) -> Answer:
        options = {name: more.pop(name) for name in ("key",) if name in more}
        body = {"fence": lease["fence"], **more}
        return self.post(f"/v1/trials/{lease['trial']}/{how}", body, token, **options)
