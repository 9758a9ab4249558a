"""`make dashboard`: measure a dashboard page under load; exit code 1 if it is too slow.

Starts a real server with many studies, and devices that lease and report at a steady pace. Measures
three phases of equal length: without a page, with a real Chromium that shows one, and without a
page again. Prints as JSON the server's decision latency without and with the page, the page's frame
times, and the memory of both. Decisions get faster as more is known, so the phase with a page is
compared with the faster of the two phases without one.

DASHBOARD="--page heatmap --seconds 20" make dashboard
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from find_browser import FLAGS, find_browser
from playwright.sync_api import Browser, Page, sync_playwright

from bentham.bench.connection import BareConnection
from bentham.bench.service import RunningServer, done, server

WARM_UP = 5.0  # seconds before anything is measured
FIRST = {"pace": 200.0, "seconds": 10.0}
MOST_FRAME_MS, MOST_RATIO = 50.0, 2.0
MOST_GROWTH, SPARE_BYTES = 1.25, 4 * 2**20  # page memory, from the middle to the end
FRAMES = """() => {
    window.loadFrames = [];
    let last = performance.now();
    const tick = now => {
        window.loadFrames.push(now - last);
        last = now;
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
}"""


def main(arguments: Sequence[str]) -> int:
    """Measure, and print the result."""
    options = parse_options(arguments)
    with tempfile.TemporaryDirectory(prefix="bentham-dashboard-") as folder:
        say("starting a server")
        with server(Path(folder), None, []) as running:
            prepare(running, options)
            # The first scores trigger frequent fits, which should count for neither phase.
            say("running the first trials")
            measure(running, argparse.Namespace(**{**vars(options), **FIRST}), time.sleep)
            say(f"without a page: {options.seconds:g} s")
            before = measure(running, options, time.sleep)
            say(f"with a page: {options.seconds:g} s")
            shown, page = show(running, options)
            say(f"without a page again: {options.seconds:g} s")
            after = measure(running, options, time.sleep)
    result = {
        "dashboard": options.page or "overview", "studies": options.studies,
        "models": options.models, "devices": options.devices, "pace": options.pace,
        "seconds": options.seconds,
        "cores": os.cpu_count(), "before": before, "with": shown, "after": after, "page": page,
        "ratios": ratios(before, shown, after),
    }  # fmt: skip
    result["violations"] = violations(result)
    print(json.dumps(result, indent=2))
    return 1 if result["violations"] else 0


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(description="Measure a dashboard page under load.")
    parser.add_argument("--page", default="", help="page to show (default: the overview)")
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--models", type=int, default=100, help="models per study")
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--devices", type=int, default=64)
    parser.add_argument("--pace", type=float, default=50.0, help="leases and reports per second")
    parser.add_argument("--seconds", type=float, default=60.0)
    return parser.parse_args(arguments)


def prepare(running: RunningServer, options: argparse.Namespace) -> None:
    """Create tenants and their studies, all with the same models but with their own costs."""
    draw = random.Random(0)
    with closing(BareConnection(running.port, running.token)) as admin:
        for tenant in range(options.tenants):
            done(admin.post("/v1/tenants", {"name": f"tenant-{tenant:02}"}))
        for study in range(options.studies):
            if study % 100 == 0:
                say(f"creating studies: {study} of {options.studies}")
            costs = {
                f"model-{model:03}": draw.uniform(1.0, 10.0) for model in range(options.models)
            }
            owner = f"tenant-{study % options.tenants:02}"
            body = {"name": f"study-{study:04}", "tenant": owner, "models": costs}
            done(admin.post("/v1/studies", body))


def measure(
    running: RunningServer,
    options: argparse.Namespace,
    wait: Callable[[float], object],
    sample: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Run the devices. `wait` passes the time; `sample` gets "start", "middle", then "end"."""
    load = {
        "port": running.port, "token": running.token, "devices": options.devices,
        "pace": options.pace, "warm_up": WARM_UP, "seconds": options.seconds,
    }  # fmt: skip
    program = Path(__file__).with_name("load_devices.py")
    fleet = subprocess.Popen(
        [sys.executable, str(program), json.dumps(load)], stdout=subprocess.PIPE, text=True
    )
    memory: dict[str, float | None] = {}
    try:
        for name, seconds in (("start", WARM_UP), ("middle", options.seconds / 2.0),
                              ("end", options.seconds / 2.0 - 1.0)):  # fmt: skip
            wait(max(0.0, seconds))
            sample(name)
            memory[name] = resident_mebibytes(running.process.pid)
        output, _ = fleet.communicate(timeout=60.0)
    finally:
        fleet.kill()
        fleet.wait()
    if fleet.returncode:
        raise SystemExit(f"dashboard_load: load_devices failed with exit code {fleet.returncode}")
    with closing(BareConnection(running.port, running.token)) as admin:
        latency = done(admin.get("/v1/overview")).get("latency")
    return {"latency": latency, **json.loads(output), "server_mebibytes": memory}


def show(
    running: RunningServer, options: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure with a page: return the devices' measurements and the page's."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            return watch(browser, running, options)
        finally:
            browser.close()


def watch(
    browser: Browser, running: RunningServer, options: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sign in, open the page, and measure it under load."""
    address = f"http://127.0.0.1:{running.port}"
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    errors: list[str] = []
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/#/{options.page}")
    page.get_by_label("Token").fill(running.token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("main .panel h2")
    samples: dict[str, dict[str, float]] = {}

    def sample(name: str) -> None:
        samples[name] = memory_of(page)
        if name == "start":
            page.evaluate(FRAMES)

    measured = measure(
        running, options, lambda seconds: page.wait_for_timeout(1e3 * seconds), sample
    )
    frames = sorted(page.evaluate("window.loadFrames"))
    return measured, {
        "frames": len(frames),
        "frame_ms": {
            "median": round(frames[len(frames) // 2], 1),
            "p95": round(frames[int(0.95 * len(frames))], 1),
            "max": round(frames[-1], 1),
        },
        "memory": samples,
        "troubles": errors[:20],
    }


def memory_of(page: Page) -> dict[str, float]:
    """Return the page's memory use after a garbage collection."""
    session = page.context.new_cdp_session(page)
    try:
        session.send("HeapProfiler.collectGarbage")
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
    finally:
        session.detach()
    found = {each["name"]: each["value"] for each in metrics}
    return {
        "heap_bytes": found["JSHeapUsedSize"],
        "nodes": found["Nodes"],
        "listeners": found["JSEventListeners"],
        "elements": page.evaluate("document.querySelectorAll('*').length"),
    }


def resident_mebibytes(process: int) -> float | None:
    """Return the resident memory of a process in MiB; None on systems without /proc."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    lines = [line.split() for line in text.splitlines() if line.startswith("VmRSS:")]
    return round(int(lines[0][1]) / 1024.0, 1) if lines else None


def ratios(
    before: dict[str, Any], shown: dict[str, Any], after: dict[str, Any]
) -> dict[str, float]:
    """Return times with a page divided by the faster of the two times without one."""

    def ratio(kind: str, figure: str) -> float:
        without = min(before[kind][figure], after[kind][figure])
        return round(float(shown[kind][figure] / without), 2)

    return {
        "decision_median": ratio("latency", "median"),
        "decision_p99": ratio("latency", "p99"),
        "lease_median": ratio("lease", "median_ms"),
        "lease_p99": ratio("lease", "p99_ms"),
    }


def violations(result: dict[str, Any]) -> list[str]:
    """Return the limits that were exceeded."""
    found = []
    page, slower = result["page"], result["ratios"]
    if page["frame_ms"]["median"] >= MOST_FRAME_MS:
        found.append(f"the median frame takes {page['frame_ms']['median']} ms")
    for name, ratio in slower.items():
        if ratio > MOST_RATIO:
            found.append(f"with a page, the {name.replace('_', ' ')} is {ratio} times as long")
    middle, end = (page["memory"][name]["heap_bytes"] for name in ("middle", "end"))
    if end > MOST_GROWTH * middle + SPARE_BYTES:
        found.append(f"the page's memory grows: {middle:.0f} bytes, then {end:.0f}")
    if page["troubles"]:
        found.append(f"the console has {len(page['troubles'])} errors")
    return found


def say(text: str) -> None:
    """Print progress to standard error."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
