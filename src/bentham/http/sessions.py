"""Sessions: how a browser is known after it has shown a token once.

The cookie holds a random id, of which the server keeps the hash, in memory only. Cookies reach
every port of a host and other programs listen there, so the token itself is never in one. For the
same reason a cookie alone changes nothing: every change names the session's CSRF token, too, which
is told once, at the sign-in, and which the page keeps where only pages of its own address can read.
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
    "the cookies of several sessions came at once, as when another program on this host sets them; "
    "remove the host's cookies and sign in again"
)
FORGED = (
    "a change by cookie needs the session's own X-CSRF-Token header; POST /v1/session told it: "
    "sign in again if it is lost, or send Authorization: Bearer bth_... instead of a cookie"
)
FOREIGN = (
    "the Origin header is not of this server's Host; act from its own pages. Behind a proxy, let "
    "it hand on the Host that the browser sent"
)
_ORIGIN = re.compile(r"(https?)://([^/?#@\s]+)")
_PORTS = {"http": ":80", "https": ":443"}


@dataclass(slots=True, eq=False)
class Session:
    """Somebody who is signed in, by a token; the token is asked again with every request."""

    digest: bytes
    owner: str  # the token's id
    token: str = field(repr=False)
    csrf: str = field(repr=False)
    idle: float  # how long it may be unused
    used: float  # when it was last used
    ended: bool = False
    name: str = ""  # by which it can be told from others; opens nothing
    streams: set[Subscription] = field(default_factory=set)


class Sessions:
    """All that are signed in. What was longest unused goes first when there are too many."""

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
        # With this prefix a browser takes it from nobody but a server behind TLS, for this host.
        self.cookie = f"__Host-{COOKIE}" if secure else COOKIE
        name = self.cookie.encode()
        self._form = re.compile(rb"(?:^|;)\s*%s=([0-9a-f]{64})\s*(?=;|$)" % name)
        self._all: OrderedDict[bytes, Session] = OrderedDict()  # the longest unused first
        self._of: dict[str, dict[Session, None]] = {}  # by token, in the order they began

    def __len__(self) -> int:
        return len(self._all)

    def begin(self, owner: str, token: str, keep: bool = False) -> tuple[Session, str]:
        """A new session of a token, and the value of its `Set-Cookie`.

        The id is always a new one, whatever cookie came with the request. With `keep` it outlives
        the browser, for 30 days.
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
        return session, self._crumbs(name, KEPT_SECONDS if keep else None)

    def trouble(self, cookies: bytes) -> str:
        """What is wrong with a `Cookie` header that names nobody; empty if it names no session."""
        named = len(set(self._form.findall(cookies)))
        return SEVERAL if named > 1 else ENDED if named else ""

    def find(self, cookies: bytes) -> Session | None:
        """The session that a `Cookie` header names; that is a use of it. Takes microseconds.

        Another port of the host can set a cookie that comes before ours. If it names nobody it
        keeps nobody out; and of two who are signed in, nobody can tell which the browser's user is.
        """
        named = (self._all.get(_digest(each)) for each in set(self._form.findall(cookies)))
        live = [session for session in named if session is not None and self.use(session)]
        return live[0] if len(live) == 1 else None

    def use(self, session: Session) -> bool:
        """Note a use of a session; False if it has ended."""
        now = self._clock.instant()
        if session.ended or not _fresh(session, now):
            self.end(session)
            return False
        session.used = now
        self._all.move_to_end(session.digest)
        return True

    def end(self, session: Session) -> str:
        """End a session, and the streams that it opened. Returns a `Set-Cookie` that says so."""
        if not session.ended:
            session.ended = True
            del self._all[session.digest]
            own = self._of[session.owner]
            del own[session]
            if not own:
                del self._of[session.owner]
            for each in session.streams:
                each.put(None)
        return self._crumbs("", 0.0)

    def _crumbs(self, value: str, seconds: float | None) -> str:
        age = "" if seconds is None else f"; Max-Age={seconds:.0f}"
        secure = "; Secure" if self._secure else ""
        return f"{self.cookie}={value}; HttpOnly; SameSite=Strict; Path=/{age}{secure}"


def check_change(
    method: str, path: str, headers: Mapping[bytes, bytes], session: Session | None
) -> None:
    """Refuse what another site might have had a browser send.

    To sign in takes no CSRF token, since who signs in has none yet; but JSON, which no form of
    another site can send.
    """
    signing_in = path == ADDRESS and method == "POST"
    if method in SAFE or (session is None and not signing_in):
        return
    if _foreign(headers):
        raise Forbidden(FOREIGN)
    if signing_in:
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            raise Invalid("the token comes as JSON; send it with Content-Type: application/json")
        return
    given = headers.get(b"x-csrf-token", b"")
    if session is not None and not hmac.compare_digest(given, session.csrf.encode()):
        raise Forbidden(FORGED)


def _foreign(headers: Mapping[bytes, bytes]) -> bool:
    origin = headers.get(b"origin")
    if origin is None:
        return False
    found = _ORIGIN.fullmatch(origin.decode("latin-1").lower())
    if found is None:  # "null" is nobody's
        return True
    host = headers.get(b"host", b"").decode("latin-1").lower()
    port = _PORTS[found.group(1)]
    return found.group(2).removesuffix(port) != host.removesuffix(port)


def _fresh(session: Session, now: float) -> bool:
    return now - session.used < session.idle


def _digest(name: bytes) -> bytes:
    return hashlib.sha256(name).digest()
