"""One run of the demo, from starting the server to stopping it."""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console
from rich.live import Live

from bentham.client import Client
from bentham.demo.comparison import REPLAYS, compare, early_in_words, in_words
from bentham.demo.look import RunProgress, query_progress
from bentham.demo.processes import Child, admin_token, server, worker
from bentham.demo.record import Measured, fingerprint, measure, score_rows, study_row
from bentham.demo.report import comparison_grid, comparison_json, results
from bentham.demo.screen import WIDTH, Screen, clock
from bentham.demo.tasks import DemoTask, demo_tasks
from bentham.errors import BenthamError, InvalidInput
from bentham.wire import StopRules
from bentham.wording import counted

POLL_SECONDS = 0.5
LINE_SECONDS = 10.0  # between lines of progress, if the output is not a terminal


@dataclass(frozen=True, slots=True)
class Demo:
    """The options of the demo; `studies` limits the number of studies."""

    seed: int
    devices: int
    candidates: int
    studies: int | None = None
    folder: Path | None = None
    output: Path | None = None
    stay: bool = True


def run_demo(demo: Demo) -> None:
    """Serve, train, print and compare; then, if `demo.stay`, keep serving until an interrupt."""
    console = Console(highlight=False)
    console.width = min(WIDTH, console.width)
    began = time.monotonic()
    with ExitStack() as stack:
        stack.enter_context(_ended_by_signals())
        folder = stack.enter_context(_folder(demo.folder))
        console.print("Starting the service.")
        server_process, admin = stack.enter_context(server(folder))
        token = admin.issue_token("device", label="the demo's worker").secret
        worker_process = stack.enter_context(worker(folder, admin.server, token, demo.devices))
        devices = counted(demo.devices, "device")
        console.print(f"It is at {admin.server}, with a worker of {devices}.")
        console.print("Open it in a browser; the operator's token for signing in is in")
        console.print(f"  {admin_token(folder)}", soft_wrap=True)
        _create(demo, admin, worker_process, folder, console)
        progress = _watch(admin, [server_process, worker_process], console)
        measured = measure(admin)
        result = _report(demo, admin, progress, measured, console)
        result["seconds"] = time.monotonic() - began
        console.print(f"\nThe demo took {clock(result['seconds'])} minutes.")
        if demo.output is not None:
            demo.output.write_text(json.dumps(result, indent=1) + "\n")
        if demo.stay:
            _stay(admin.server, folder, measured, [server_process, worker_process], console)


def _create(
    demo: Demo, admin: Client, worker_process: Child, folder: Path, console: Console
) -> None:
    """Upload all tenants' tables, wait for the devices, then create all studies at once."""
    tasks = demo_tasks(demo.seed)[: demo.studies]
    by_tenant: dict[str, list[DemoTask]] = {}
    for task in tasks:
        by_tenant.setdefault(task.tenant, []).append(task)
    files = len({(task.tenant, task.file) for task in tasks})
    console.print(
        f"{counted(len(by_tenant), 'tenant')} upload {counted(files, 'table')} and create "
        f"{counted(len(tasks), 'study', 'studies')} with {demo.candidates} candidates each."
    )
    with ExitStack() as stack:
        clients: dict[str, Client] = {}
        for tenant, own in by_tenant.items():
            admin.create_tenant(tenant)
            secret = admin.issue_token("tenant", tenant).secret
            _write_token(folder / f"{tenant}.token", secret)
            clients[tenant] = stack.enter_context(Client(admin.server, secret))
            for name, content in {task.file: task.content for task in own}.items():
                clients[tenant].add_dataset(name, content)
        _until_ready(admin, demo.devices, worker_process)
        for task in tasks:
            clients[task.tenant].create_study(
                task.study,
                dataset=task.file,
                target=task.target,
                split={"seed": demo.seed},
                metric=task.metric,
                candidates=demo.candidates,
                # The comparison at the end needs every score.
                stop=StopRules(gain_share=0.0),
            )


def _until_ready(client: Client, devices: int, worker_process: Child) -> None:
    """Wait for the devices, so that the time before they can train does not count as regret."""
    while len(client.devices()) < devices:
        worker_process.check()
        time.sleep(POLL_SECONDS / 5.0)


def _watch(client: Client, children: list[Child], console: Console) -> RunProgress:
    """Show the progress until every model has been tried."""
    screen, printed = Screen(client.server), time.monotonic()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            progress = query_progress(client)
            if console.is_terminal:
                live.update(screen.picture(progress), refresh=True)
            elif time.monotonic() > printed + LINE_SECONDS:
                printed = time.monotonic()
                console.print(
                    f"{clock(progress.seconds)}  {progress.tried} of {progress.models} models "
                    f"trained, estimated mean regret {progress.overview.regret_estimate:.4f}"
                )
            if progress.done:
                return progress
            for child in children:
                child.check()
            time.sleep(POLL_SECONDS)


def _report(
    demo: Demo, client: Client, progress: RunProgress, measured: Measured, console: Console
) -> dict[str, Any]:
    """Print the results and return them as JSON data."""
    rows = [study_row(client.study(study.id)) for study in progress.studies]
    console.print(
        f"\nBest model of each study after {clock(progress.seconds)} minutes of training:\n"
    )
    console.print(results(rows))
    failed = sum(row["failed"] for row in rows)
    if failed:
        trials = counted(failed, "trial")
        console.print(f"{trials} failed; bentham trial list --state failed shows why.")
    digest = fingerprint(measured)
    console.print(
        f"\n{len(measured.arms)} scores, fingerprint {digest}. Every run with seed {demo.seed} on "
        "this machine gives the same scores."
    )
    if not measured.arms:
        raise BenthamError("no trial returned a score, so there is nothing to compare")
    console.print(
        "\nHow much longer would round robin have taken to reach the same happiness? The measured "
        f"scores and times, replayed on {demo.devices} devices (mean over {REPLAYS} orders of the "
        "studies):\n"
    )
    comparison = compare(measured, demo.devices)
    console.print(comparison_grid(comparison))
    console.print()
    console.print(in_words(comparison))
    console.print(f"\n{early_in_words(comparison.early)}")
    return {
        "server": client.server,
        "seed": demo.seed,
        "devices": demo.devices,
        "studies": rows,
        "fingerprint": digest,
        "scores": score_rows(measured),
        "comparison": comparison_json(comparison),
    }


def _stay(
    address: str, folder: Path, measured: Measured, children: list[Child], console: Console
) -> None:
    """Keep serving until an interrupt, and print how to use the service."""
    study, program = measured.studies[0], _program()
    token = folder / f"{study.tenant}.token"
    console.print(f"\nThe service keeps running at {address}. In another terminal:\n")
    console.print(
        f"  export BENTHAM_SERVER={address}\n"
        f"  export BENTHAM_TOKEN_FILE={token}\n"
        f"  {program} study list\n"
        f"  {program} study export '{study.name}' > best.py\n"
        f"  {program} study create mine --data my.csv --target column\n",
        soft_wrap=True,
    )
    console.print("Ctrl-C ends the demo and stops the service.", style="bold")
    try:
        while True:
            for child in children:
                child.check()
            time.sleep(1.0)
    except KeyboardInterrupt:
        console.print("Stopping.")


@contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    """Yield the directory for all files: `folder`, or a temporary one, deleted at the end."""
    if folder is None:
        with tempfile.TemporaryDirectory(
            prefix="bentham-demo-", ignore_cleanup_errors=True
        ) as name:
            yield Path(name)
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise InvalidInput(f"{folder} is not empty; name an empty directory, or leave --folder out")
    yield folder.absolute()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP unwind the stack, as Ctrl-C does.

    Signals after the first are ignored, so that they do not disturb the shutdown of the processes.
    """

    def unwind(number: int, _frame: FrameType | None) -> NoReturn:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    before = {
        number: signal.signal(number, unwind)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_token(path: Path, secret: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret + "\n")


def _program() -> str:
    """Return the command for `bentham`, which works even if the environment is not active."""
    return "bentham" if shutil.which("bentham") else f"{sys.executable} -m bentham"
