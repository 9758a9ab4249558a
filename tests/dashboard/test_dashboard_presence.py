"""A worker is killed: page, metrics, command line and log say that no device is alive."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browsers import Visits
from support.commands import Bentham
from support.dashboards import go, sign_in
from support.sites import Site, wait_for

AWAY = 4.0  # seconds
NO_DEVICE = "Work waits and no device is alive"


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[Site]:
    """A server on which a silent device is away after seconds."""
    site = Site(tmp_path, "--lease", 3, "--heartbeat", 0.5, "--away", AWAY)
    try:
        yield site
    finally:
        site.close()


def test_a_killed_worker_is_seen_everywhere(
    hasty: Site, page: Page, visits: Visits, bentham: Bentham
) -> None:
    with hasty.client() as admin, hasty.tenant("lab") as lab:
        token = hasty.folder / "device.token"
        token.touch(0o600)
        token.write_text(admin.issue_token("device").secret)
        study = lab.create_study("slower", ["svm"])
        worker = hasty.worker("--name", "box", "--devices", 1)
        wait_for(worker.has_started)
        folder = hasty.folder / "bentham-data"
        sign_in(page, hasty.address, (folder / "admin.token").read_text().strip())
        theirs = visits.open()
        sign_in(theirs, hasty.address, admin.issue_token("tenant", "lab").secret)
        banners = page.locator("#banner"), theirs.locator("#banner")
        for banner in banners:
            expect(banner).to_be_empty()
        worker.popen.kill()
        expect(banners[0]).to_contain_text(NO_DEVICE)
        expect(banners[1]).to_contain_text("Your work waits because no device is alive")
        go(page, "studies", "Studies")
        expect(banners[0]).to_contain_text(NO_DEVICE)
        page.reload()
        expect(banners[0]).to_contain_text(NO_DEVICE)
        go(theirs, f"studies/{study.id}", "slower")
        expect(theirs.get_by_text("No device is alive to run it")).to_be_visible()

        options = "--server", hasty.address, "--token-file", folder / "admin.token"
        shown = bentham("status", "--once", *options).out
        assert "0 present, 0 busy, 1 away" in shown
        assert "1 model of 1 open study: no device is alive" in shown
        assert "│ away " in bentham("device", "list", *options).out
        lines = [json.loads(line) for line in hasty.server.log().splitlines()]
        silent = next(line for line in lines if line["event"] == "device away")
        assert silent["silent_seconds"] >= AWAY
        events = [line["event"] for line in lines]
        assert events.index("lease lost") < events.index("device away")
        assert "work waits and no device is alive" in events

        hasty.worker("--name", "box", "--devices", 1)
        for banner in banners:
            expect(banner).to_be_empty()
        assert "1 present, " in bentham("status", "--once", *options).out
