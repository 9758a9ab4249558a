"""The live service: the core's scheduler, driven by requests in real time, with an event log.

This is the public interface: other packages import from here and not from the modules below.
Inside, each part imports only from those listed before it:

refusals  the errors that requests are refused with
fold      the events, and the pool: the state computed from the log
engine    handles requests in turn, commits events in batches, replies after the commit
views     the queries, and the data they return
commands  the operations that change something: they turn a request into events
jobs      work in other processes and threads: uploads, fits, what-ifs, snapshots
service   the Service, which combines all of it
"""

from bentham.service import commands
from bentham.service.bootstrap import write_admin_token
from bentham.service.engine.clock import Clock
from bentham.service.engine.engine import SNAPSHOT_EVENTS, Engine, Settings
from bentham.service.engine.feeds import Subscription, Told
from bentham.service.engine.leases import Terms
from bentham.service.engine.scope import NO_TOKEN, UNKNOWN, Caller, new_token
from bentham.service.engine.watch import MESSAGES
from bentham.service.fold import events
from bentham.service.fold.entities import Study
from bentham.service.fold.events import PoolCreated
from bentham.service.fold.pool import Pool, dataset_key
from bentham.service.fold.recovery import recover, save_snapshot
from bentham.service.fold.table import apply, shown_kinds
from bentham.service.jobs.fits import FitProcess
from bentham.service.jobs.snapshots import SnapshotProcess
from bentham.service.jobs.whatifs import Forecaster, Question
from bentham.service.refusals import (
    Conflicting,
    Forbidden,
    Invalid,
    Missing,
    Refusal,
    TooMany,
    Unauthenticated,
    Unready,
)
from bentham.service.service import Service, Stamp, scoped_key
from bentham.service.views import queries
from bentham.service.views.audit import ReplayDifference, export_lines, read_lines, verify
from bentham.service.views.entities import View
from bentham.service.views.picture import picture

__all__ = [
    "MESSAGES",
    "NO_TOKEN",
    "SNAPSHOT_EVENTS",
    "UNKNOWN",
    "Caller",
    "Clock",
    "Conflicting",
    "Engine",
    "FitProcess",
    "Forbidden",
    "Forecaster",
    "Invalid",
    "Missing",
    "Pool",
    "PoolCreated",
    "Question",
    "Refusal",
    "ReplayDifference",
    "Service",
    "Settings",
    "SnapshotProcess",
    "Stamp",
    "Study",
    "Subscription",
    "Terms",
    "Told",
    "TooMany",
    "Unauthenticated",
    "Unready",
    "View",
    "apply",
    "commands",
    "dataset_key",
    "events",
    "export_lines",
    "new_token",
    "picture",
    "queries",
    "read_lines",
    "recover",
    "save_snapshot",
    "scoped_key",
    "shown_kinds",
    "verify",
    "write_admin_token",
]
