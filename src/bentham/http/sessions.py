"""Browser sessions: a user signs in once with a token, then a cookie identifies the session.

The cookie holds a random id. The server stores only its hash, in memory. Browsers send cookies to
every port of a host, where other programs may listen, so the cookie never contains the token. For
the same reason a cookie alone cannot change anything: every change also needs the session's CSRF
token. The server returns it once, at sign-in, and the page stores it where only pages of the same
origin can read it.
"""

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from bentham.service import Clock, Forbidden, Invalid, Subscription

IDLE_SECONDS = 12 * 3600.0
KEPT_SECONDS = 30 * 86400.0
MOST_SESSIONS, MOST_OF_TOKEN = 10_000, 50
ADDRESS = "/v1/session"
COOKIE = "bentham_session"
SAFE = frozenset({"GET", "HEAD"})
ENDED = "the session has ended or is unknown; sign in again"
SEVERAL = (
    "the request has cookies of several sessions, as when another program on this host sets them; "
    "remove the host's cookies and sign in again"
)
FORGED = (
    "a change by cookie needs the header X-CSRF-Token with the csrf that POST /v1/session "
    "returned; sign in again if it is lost, or send Authorization: Bearer bth_... instead of a "
    "cookie"
)
FOREIGN = (
    "the Origin header does not match the Host header; send changes from this server's own pages. "
    "Behind a proxy, configure it to forward the Host header that the browser sent"
)
_ORIGIN = re.compile(r"(https?)://([^/?#@\s]+)")
_PORTS = {"http": ":80", "https": ":443"}


@dataclass(slots=True, eq=False)
class Session:
    """A signed-in user. The session's token is checked again with every request."""

    digest: bytes
    owner: str  # the token's id
    token: str = field(repr=False)
    csrf: str = field(repr=False)
    idle: float  # seconds without use after which it ends
    used: float  # when it was last used
    ended: bool = False
    name: str = ""  # identifies the session; grants no access
    streams: set[Subscription] = field(default_factory=set)


class Sessions:
    """All active sessions. If there are too many, the least recently used one ends."""

    def __init__(
        self,
        clock: Clock,
        secure: bool = False,
        idle: float = IDLE_SECONDS,
        most: int = MOST_SESSIONS,
        most_of_token: int = MOST_OF_TOKEN,
    ):
        self._clock, self._idle = clock, idle
        self._most, self._most_of_token = most, most_of_token
        self._secure = secure
        # With this prefix a browser accepts the cookie only over TLS and only for this host.
        self.cookie = f"__Host-{COOKIE}" if secure else COOKIE
        name = self.cookie.encode()
        self._form = re.compile(rb"(?:^|;)\s*%s=([0-9a-f]{64})\s*(?=;|$)" % name)
        self._all: OrderedDict[bytes, Session] = OrderedDict()  # least recently used first
        self._of: dict[str, dict[Session, None]] = {}  # by token, oldest first

    def __len__(self) -> int:
        return len(self._all)

    def begin(self, owner: str, token: str, keep: bool = False) -> tuple[Session, str]:
        """Start a session for a token; return it and the value of its `Set-Cookie`.

        The id is always new, whatever cookie the request had. With `keep` the cookie outlives the
        browser, for 30 days.
        """
        now = self._clock.instant()
        while self._all and not _fresh(oldest := next(iter(self._all.values())), now):
            self.end(oldest)
        own = self._of.get(owner, {})
        if len(own) >= self._most_of_token:
            self.end(min(own, key=lambda each: each.used))
        if len(self._all) >= self._most:
            self.end(next(iter(self._all.values())))
        name = secrets.token_hex(32)
        idle = KEPT_SECONDS if keep else self._idle
        session = Session(_digest(name.encode()), owner, token, secrets.token_hex(32), idle, now)
        session.name = secrets.token_hex(6)
        self._all[session.digest] = session
        self._of.setdefault(owner, {})[session] = None
        return session, self._set_cookie(name, KEPT_SECONDS if keep else None)

    def explain(self, cookies: bytes) -> str:
        """Explain why `find` returns None for these cookies; empty if none is a session's."""
        named = len(set(self._form.findall(cookies)))
        return SEVERAL if named > 1 else ENDED if named else ""

    def find(self, cookies: bytes) -> Session | None:
        """Return the session that a `Cookie` header names and mark it as used. Takes microseconds.

        Another port of the host can set a cookie that comes before ours. One with an unknown id is
        ignored. With the ids of two live sessions the user is ambiguous, so the result is None.
        """
        named = (self._all.get(_digest(each)) for each in set(self._form.findall(cookies)))
        live = [session for session in named if session is not None and self.use(session)]
        return live[0] if len(live) == 1 else None

    def use(self, session: Session) -> bool:
        """Mark a session as used; return False if it has ended."""
        now = self._clock.instant()
        if session.ended or not _fresh(session, now):
            self.end(session)
            return False
        session.used = now
        self._all.move_to_end(session.digest)
        return True

    def end(self, session: Session) -> str:
        """End a session and its streams; return the `Set-Cookie` value that deletes the cookie."""
        if not session.ended:
            session.ended = True
            del self._all[session.digest]
            own = self._of[session.owner]
            del own[session]
            if not own:
                del self._of[session.owner]
            for each in session.streams:
                each.put(None)
        return self._set_cookie("", 0.0)

    def _set_cookie(self, value: str, seconds: float | None) -> str:
        age = "" if seconds is None else f"; Max-Age={seconds:.0f}"
        secure = "; Secure" if self._secure else ""
        return f"{self.cookie}={value}; HttpOnly; SameSite=Strict; Path=/{age}{secure}"


def check_change(
    method: str, path: str, headers: Mapping[bytes, bytes], session: Session | None
) -> None:
    """Refuse a change that another site may have made the browser send.

    Signing in needs no CSRF token, since there is none yet. It needs JSON, which a form on another
    site cannot send.
    """
    signing_in = path == ADDRESS and method == "POST"
    if method in SAFE or (session is None and not signing_in):
        return
    if _foreign(headers):
        raise Forbidden(FOREIGN)
    if signing_in:
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            raise Invalid("the token must be JSON; send it with Content-Type: application/json")
        return
    csrf = headers.get(b"x-csrf-token", b"")
    if session is not None and not hmac.compare_digest(csrf, session.csrf.encode()):
        raise Forbidden(FORGED)


def _foreign(headers: Mapping[bytes, bytes]) -> bool:
    origin = headers.get(b"origin")
    if origin is None:
        return False
    found = _ORIGIN.fullmatch(origin.decode("latin-1").lower())
    if found is None:  # such as "null"
        return True
    host = headers.get(b"host", b"").decode("latin-1").lower()
    port = _PORTS[found.group(1)]
    return found.group(2).removesuffix(port) != host.removesuffix(port)


def _fresh(session: Session, now: float) -> bool:
    return now - session.used < session.idle


def _digest(name: bytes) -> bytes:
    return hashlib.sha256(name).digest()
