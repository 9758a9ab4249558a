"""The desk: where requests are handed in, each with the token of whoever asks."""

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bentham.errors import StorageUnavailable
from bentham.service import commands_devices
from bentham.service import events as happened
from bentham.service.answers import answer
from bentham.service.commands import Command, Events
from bentham.service.engine import RETRY, Engine
from bentham.service.entities import Device
from bentham.service.ledger import Ledger
from bentham.service.pool import Pool
from bentham.service.refusals import Conflicting, Invalid, Unready
from bentham.service.scope import Caller, Scope, require
from bentham.service.views import View, token_view
from bentham.storage import Record

Result = TypeVar("Result")


class Desk:
    """Reads and writes, one after the other, answered when they are committed."""

    def __init__(self, engine: Engine):
        self._engine = engine
        # When nothing could be run: in which pool, after how many events, who was barred.
        self._nothing: tuple[Pool, int, tuple[str, ...]] | None = None

    async def read(
        self, token: str, look: Callable[[Pool, Caller, float], Result], *roles: str
    ) -> Result:
        """Look at the pool, once everything that can be seen is committed."""

        def carry_out(ledger: Ledger, caller: Caller) -> Result:
            if roles:
                require(caller, *roles)
            return look(ledger.pool, caller, ledger.now())

        return await self._engine.ask(token, carry_out)

    async def write(
        self,
        token: str,
        command: Callable[[Caller], Command],
        *roles: str,
        request: str = "",
        key: str = "",
        device: str = "",
        otherwise: Callable[[Pool, Caller, float], View | None] | None = None,
    ) -> View | None:
        """Have a command carried out and committed; it is a sign of life of the device named.

        The answer is that of its last event, or what `otherwise` sees where nothing had to happen.
        """

        def carry_out(ledger: Ledger, caller: Caller) -> View | None:
            require(caller, *roles)
            pool, now = ledger.pool, ledger.now()
            noted = pool.keys.find(key, caller.token) if key else None
            if noted is not None:
                if noted.body != key.partition(":")[2]:
                    raise Invalid(
                        "this Idempotency-Key was used for another request; take a new one"
                    )
                asker = "" if caller.role == "admin" else caller.token
                return answer(pool, ledger.leases, now, noted.kind, noted.subject, asker)
            held = pool.devices.get(device)
            if key and held is not None and held.trial is not None and held.trial.key == key:
                # However many requests came between, who lost the answer gets it again.
                return answer(pool, ledger.leases, now, "trial-leased", held.trial.id)
            began = self._engine.clock.instant()
            events = command(caller)(pool, now)
            if device:
                ledger.saw(device)
            if not events:
                view = None if otherwise is None else otherwise(pool, caller, now)
                if key and view is not None:  # a repeat must find nothing to change, either
                    noted_now = happened.RequestNoted(view["id"])
                    ledger.happen([noted_now], now, caller, request, key)
                return view
            if isinstance(events[-1], happened.TrialLeased):
                self._engine.observer.decided(self._engine.clock.instant() - began)
            subject = ledger.happen(events, now, caller, request, key)
            if isinstance(events[-1], happened.TokenIssued):  # only who made the secret knows it
                return token_view(pool.tokens[subject])
            kind = happened.kind_of(events[-1])
            return answer(pool, ledger.leases, now, kind, subject)

        return await self._engine.ask(token, carry_out)

    async def lease(
        self,
        token: str,
        device: str,
        wait: float,
        request: str,
        key: str,
        gone: Callable[[], Awaitable[bool]],
    ) -> View | None:
        """A write that waits for something to run, for a while; for nobody, once they are `gone`.

        Whoever cannot be seen to have gone is known by the device having registered again: what
        a worker that died had asked for must not keep the one that took its place from working.
        """
        known: Device | None = None

        def command(caller: Caller) -> Command:
            def asking(pool: Pool, now: float) -> Events:
                nonlocal known
                found = Scope(pool, caller).device(device)
                known = found if known is None else known
                if known is not found:
                    raise Conflicting(f"device {device!r} has registered again since; ask again")
                # Where nothing can be run, it cannot for anybody: hundreds of devices that wait
                # do not each make the same decision.
                situation = (pool, pool.sequence, tuple(pool.barred(now)))
                idle = situation == self._nothing and found.trial is None
                events = [] if idle else commands_devices.lease(caller, device)(pool, now)
                self._nothing = situation if not events else None
                return events

            return asking

        loop = asyncio.get_running_loop()
        give_up = loop.time() + wait
        while True:
            changed = self._engine.changed
            found = await self.write(
                token, command, "device", "admin", request=request, key=key, device=device
            )
            left = give_up - loop.time()
            if found is not None or left <= 0.0 or self._engine.stopping:
                return found
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await changed.wait()
            if self._ending() or await gone():
                return None

    def _ending(self) -> bool:
        return self._engine.stopping

    async def record(self, sequence: int) -> Record:
        """One line of the log."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(
                None, lambda: list(self._engine.log.read(after=sequence - 1, limit=1))
            )
        except StorageUnavailable as error:
            raise Unready(str(error), retry_after=RETRY) from None
        return found[0]


def scoped_key(token: str, route: str, key: str, body: bytes) -> str:
    """An idempotency key as it is kept: for one token and address, with a digest of the body."""
    digest = hashlib.sha256(f"{token}\n{route}\n{key}".encode("utf-8", "replace")).hexdigest()[:32]
    return f"{digest}:{hashlib.sha256(body).hexdigest()[:16]}"
