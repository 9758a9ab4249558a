"""Common requests to a service: tenants, studies, devices and trials, over any transport."""

from abc import ABC, abstractmethod
from typing import Any
from urllib.parse import quote

from support.service_exchange import Answer

# Two kinds of flowers, one larger than the other: 40 rows.
FLOWERS = b"length,width,kind\n" + b"".join(
    b"%d.%d,%d,%s\n" % (3 + row % 2 * 3, row % 7, row % 5, (b"small", b"large")[row % 2])
    for row in range(40)
)


class Cast(ABC):
    """Creates entities by requests, with the admin's token unless one (or None) is given."""

    @abstractmethod
    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Send one request and wait for the response; `options`: token, key, headers and query."""

    def get(self, path: str, token: str | None = "", query: str = "") -> Any:
        return self.request("GET", path, token=token, query=query).ok()

    def post(self, path: str, body: Any = None, token: str | None = "", **more: Any) -> Answer:
        return self.request("POST", path, body, token=token, **more)

    def tenant(self, name: str, **more: Any) -> str:
        """Create a tenant; return a token for it."""
        self.post("/v1/tenants", {"name": name, **more}).ok(201)
        return self.token("tenant", tenant=name)

    def token(self, role: str, **more: Any) -> str:
        secret: str = self.post("/v1/tokens", {"role": role, **more}).ok(201)["secret"]
        return secret

    def study(self, token: str, name: str = "s", models: Any = 3, **more: Any) -> str:
        """Create a study; `models` may be a number of models of cost 1. Return its id."""
        if isinstance(models, int):
            models = {f"m{model}": 1.0 for model in range(models)}
        body = {"name": name, "models": models, **more}
        study: str = self.post("/v1/studies", body, token).ok(201)["id"]
        return study

    def dataset(
        self, token: str, name: str = "flowers.csv", content: bytes = b"", **more: Any
    ) -> Any:
        """Upload a dataset; by default, of two kinds of flowers."""
        query = "&".join(f"{key}={quote(value)}" for key, value in {"name": name, **more}.items())
        headers = {"content-type": "text/csv"}
        answer = self.post("/v1/datasets", content or FLOWERS, token, query=query, headers=headers)
        return answer.ok(201)

    def data_study(self, token: str, name: str = "a", **more: Any) -> Any:
        """Create a study over the flower data; by default, with two candidates."""
        dataset = self.dataset(token)
        data = {"dataset": dataset["id"], "target": "kind", **more.pop("data", {})}
        body = {"name": name, "data": data, "candidates": 2, **more}
        return self.post("/v1/studies", body, token).ok(201)

    def device(self, name: str = "gpu", token: str | None = None, kind: str = "") -> str:
        """Register a device; return its token."""
        token = self.token("device") if token is None else token
        self.post("/v1/devices", {"name": name, "kind": kind}, token).ok(201)
        return token

    def lease(self, token: str, device: str = "gpu", **options: Any) -> Any:
        """Request a lease; None if there is nothing to run."""
        answer = self.post(f"/v1/devices/{device}/lease", {}, token, **options)
        return answer.ok(answer.status if answer.status == 204 else 200)

    def report(self, token: str, lease: Any, action: str = "complete", **more: Any) -> Answer:
        options = {name: more.pop(name) for name in ("key",) if name in more}
        body = {"fence": lease["fence"], **more}
        return self.post(f"/v1/trials/{lease['trial']}/{action}", body, token, **options)
