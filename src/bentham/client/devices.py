"""What devices say: they join, take leases, and report what came of them."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

from bentham.client.answers import understood
from bentham.client.calls import Calls
from bentham.client.connection import asked, part
from bentham.wire import (
    Complete,
    DeviceCreate,
    DeviceView,
    Fail,
    Heartbeat,
    Lease,
    LeaseRequest,
    Release,
    Renewal,
    TrialView,
)
from bentham.wire.base import LONGEST_TEXT


class DeviceCalls(Calls):
    """Devices, and the trials they run."""

    def register_device(self, name: str, kind: str = "") -> DeviceView:
        """A device joins, or joins again: then the trial that it ran, if any, is lost."""
        return self._post("/v1/devices", DeviceView, asked(DeviceCreate, name=name, kind=kind))

    def devices(self) -> list[DeviceView]:
        """All devices."""
        return list(self._items("/v1/devices", DeviceView))

    def device(self, name: str) -> DeviceView:
        """One device."""
        return self._get(f"/v1/devices/{part('device', name)}", DeviceView)

    def leave_device(self, name: str) -> DeviceView:
        """A device leaves; the trial that it ran, if any, is lost."""
        return self._post(f"/v1/devices/{part('device', name)}/leave", DeviceView)

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
    ) -> TrialView:
        """Report a trial's score, with other figures of it and its scores on the way."""
        said = _said(metrics=dict(metrics or {}), scores=list(scores))
        body = asked(Complete, fence=fence, score=score, **said)
        return self._report(trial_id, "complete", TrialView, body, timeout, key)

    def fail(
        self,
        trial_id: str,
        fence: int,
        reason: str = "",
        final: bool = False,
        key: str | None = None,
        timeout: float | None = None,
    ) -> TrialView:
        """Report that a trial ended without a score; unless `final`, it may be tried again."""
        body = asked(Fail, fence=fence, reason=reason[-LONGEST_TEXT:], final=final)
        return self._report(trial_id, "fail", TrialView, body, timeout, key)

    def release(
        self,
        trial_id: str,
        fence: int,
        key: str | None = None,
        timeout: float | None = None,
        *,
        reason: str = "",
        unable: bool = False,
    ) -> TrialView:
        """Give a trial back untried, with the reason; this does not count as an attempt.

        `unable` says that this device can never run the model.
        """
        said = _said(reason=reason[-LONGEST_TEXT:], unable=unable or None)
        body = asked(Release, fence=fence, **said)
        return self._report(trial_id, "release", TrialView, body, timeout, key)

    def trial_data(self, trial_id: str, timeout: float | None = None) -> Iterator[bytes]:
        """The file that a running trial trains on, piece by piece; `timeout` is for each piece."""
        return self._stream(f"/v1/trials/{part('trial', trial_id)}/data", timeout)

    def send_log(
        self, trial_id: str, fence: int, content: bytes, timeout: float | None = None
    ) -> None:
        """Keep what a trial printed; the first that is sent stays."""
        self._connection.send(
            "PUT",
            f"/v1/trials/{part('trial', trial_id)}/log",
            content,
            content_type="text/plain; charset=utf-8",
            parameters={"fence": fence},
            timeout=timeout,
        )


def _said(**fields: object) -> dict[str, object]:
    """What there is to say: a body without the rest is one that an older server knows, too."""
    return {name: value for name, value in fields.items() if value or value == 0.0}
