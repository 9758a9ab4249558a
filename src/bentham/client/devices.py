"""Calls for devices: register, lease trials, and report their outcome."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from bentham.client.answers import parse_answer
from bentham.client.calls import LONG, Calls
from bentham.client.connection import request_body, segment
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
        """Register a device. If it is registered already, the trial it runs, if any, is lost."""
        return self._post(
            "/v1/devices", DeviceView, request_body(DeviceCreate, name=name, kind=kind)
        )

    def devices(self) -> list[DeviceView]:
        """Return all devices."""
        return list(self._items("/v1/devices", DeviceView))

    def device(self, name: str) -> DeviceView:
        """Return one device."""
        return self._get(f"/v1/devices/{segment('device', name)}", DeviceView)

    def leave_device(self, name: str) -> DeviceView:
        """Remove a device; the trial it runs, if any, is lost."""
        return self._post(f"/v1/devices/{segment('device', name)}/leave", DeviceView)

    def lease(self, device: str, wait: float = 0.0, key: str | None = None) -> Lease | None:
        """Lease the next trial for an idle device; None if there is none within `wait` seconds.

        To retry a failed call, pass the same `key`, so that only one trial is leased.
        """
        path = f"/v1/devices/{segment('device', device)}/lease"
        body = request_body(LeaseRequest, wait=wait).model_dump_json().encode()
        timeout = self._connection.timeout + wait
        reply = self._connection.send("POST", path, body, key=key or str(uuid4()), timeout=timeout)
        return parse_answer(self.server, reply, Lease) if reply else None

    def heartbeat(
        self,
        trial_id: str,
        fence: int,
        timeout: float | None = None,
        *,
        progress: float | None = None,
        scores: Sequence[float] = (),
    ) -> Renewal:
        """Renew the lease of a running trial; `progress` (0 to 1) and `scores` are those so far."""
        optional = _present(progress=progress, scores=list(scores))
        body = request_body(Heartbeat, fence=fence, **optional)
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
        look: Mapping[str, Any] | None = None,
    ) -> TrialView:
        """Report a trial's score, with other metrics, intermediate scores and a look at its model.

        The server stores the look if the model is the best so far of a study.
        """
        optional = _present(metrics=dict(metrics or {}), scores=list(scores), look=look)
        body = request_body(Complete, fence=fence, score=score, **optional)
        return self._report(trial_id, "complete", TrialView, body, timeout, key)

    def send_model(
        self,
        trial_id: str,
        fence: int,
        content: bytes,
        versions: Sequence[str] = (),
        timeout: float | None = None,
    ) -> TrialView:
        """Upload the file of a fitted model, which ends its trial; a repeat changes nothing."""
        reply = self._connection.send(
            "PUT",
            f"/v1/trials/{segment('trial', trial_id)}/model",
            content,
            content_type="application/zip",
            parameters={"fence": fence, "version": list(versions)},
            timeout=max(LONG, timeout or 0.0),
        )
        return parse_answer(self.server, reply, TrialView)

    def fail(
        self,
        trial_id: str,
        fence: int,
        reason: str = "",
        final: bool = False,
        key: str | None = None,
        timeout: float | None = None,
    ) -> TrialView:
        """Report that a trial ended without a score; unless `final`, its arm may run again."""
        body = request_body(Fail, fence=fence, reason=reason[-LONGEST_TEXT:], final=final)
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
        """Release a trial without an outcome, with the reason; it does not count as an attempt.

        `unable` means that this device can never run the model.
        """
        optional = _present(reason=reason[-LONGEST_TEXT:], unable=unable or None)
        body = request_body(Release, fence=fence, **optional)
        return self._report(trial_id, "release", TrialView, body, timeout, key)

    def trial_data(self, trial_id: str, timeout: float | None = None) -> Iterator[bytes]:
        """Iterate over the chunks of a running trial's data; `timeout` is for each chunk."""
        return self._stream(f"/v1/trials/{segment('trial', trial_id)}/data", timeout)

    def send_log(
        self, trial_id: str, fence: int, content: bytes, timeout: float | None = None
    ) -> None:
        """Upload the output of a trial; only the first upload is stored."""
        self._connection.send(
            "PUT",
            f"/v1/trials/{segment('trial', trial_id)}/log",
            content,
            content_type="text/plain; charset=utf-8",
            parameters={"fence": fence},
            timeout=timeout,
        )


def _present(**fields: object) -> dict[str, object]:
    """Return the fields that have a value: older servers reject fields that they do not know."""
    return {name: value for name, value in fields.items() if value or value == 0.0}
