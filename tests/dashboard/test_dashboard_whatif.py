"""The what-if page: question, answer, pictures and permissions."""

import re
from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import Page, expect
from support.boards import Board
from support.browsers import Visits, axe
from support.dashboards import go, sign_in, visit


def create_work(board: Board) -> str:
    """Create three studies, with two of nine models tried; return the tenant's token."""
    ada = board.tenant("ada")
    for number in range(3):
        board.study(ada, f"s{number}", {f"m{place}": 60.0 for place in range(3)})
    device = board.device("gpu")
    board.run(device, "gpu", lambda _: 0.5, limit=2)
    return ada


def test_an_operator_asks_and_saves_the_picture(
    board: Board, visits: Visits, tmp_path: Path
) -> None:
    ada = create_work(board)
    page = visits.open()
    sign_in(page, board.address, board.admin)
    go(page, "whatif", "What if")
    now = board.get("/v1/overview")["regret_estimate"]
    hint = page.get_by_text("Currently about")
    expect(hint).to_have_text(f"Currently about {now:.2g}. Default: half of that.")
    devices = page.get_by_label("Devices", exact=True)
    expect(devices).to_have_value("2")
    page.get_by_label("Devices (slider)").fill("8")
    expect(devices).to_have_value("8")
    page.get_by_text("More options", exact=True).click()
    page.get_by_label("Draws").fill("2")
    page.get_by_role("button", name="Run the simulation").click()
    expect(page.locator(".heading .badge")).to_have_text("complete")
    answer = page.locator(".whatif-answer")
    expect(answer).to_have_text(
        re.compile(r"With 8 devices instead of 1, mean regret is expected to fall below .* in .*\.")
    )
    expect(answer).to_contain_text(f"below {now / 2:.2g} in")
    expect(page.get_by_text(f"Mean regret was about {now:.2g} then")).to_be_visible()
    expect(page).to_have_url(re.compile(r"#/whatif/w_\w+$"))
    for figure in page.get_by_role("img").all():
        assert "Round robin" in str(figure.get_attribute("aria-label"))
    page.get_by_text("As a table").first.click()
    rows = page.get_by_role("region", name="Time until").locator("tbody tr")
    expect(rows).to_have_count(12)
    expect(rows.last).to_contain_text("64")
    assert axe(page) == []

    with page.expect_download() as download:
        page.get_by_role("button", name="Save the picture").click()
    download.value.save_as(tmp_path / "picture.svg")
    texts = [each.text for each in ElementTree.parse(tmp_path / "picture.svg").iter() if each.text]
    assert answer.inner_text().startswith(texts[1])
    assert "Mean regret over time" in texts

    # It is still there after a reload; tenants cannot open the page.
    page.reload()
    expect(answer).to_contain_text("With 8 devices instead of 1")
    expect(page.get_by_role("link", name=re.compile("8 devices instead of 1"))).to_be_visible()
    # So it is without a name in the address, with both charts.
    page.evaluate("location.hash = '#/overview'")
    go(page, "whatif", "What if")
    expect(answer).to_contain_text("With 8 devices instead of 1")
    expect(page.get_by_role("img", name=re.compile("Bentham with 8: 0"))).to_be_visible()
    # A level that is not below the current regret leaves nothing to draw.
    page.get_by_role("spinbutton", name="Until mean regret is below").fill(f"{2 * now}")
    page.get_by_role("button", name="Run the simulation").click()
    expect(answer).to_contain_text(f"is already about {now:.2g}, which is not above {2 * now:.2g}")
    expect(page.get_by_role("img")).to_have_count(0)
    expect(page.get_by_role("cell", name="already reached")).to_be_visible()
    other = visits.open()
    sign_in(other, board.address, ada)
    expect(other.get_by_role("link", name="What if")).to_have_count(0)
    visit(other, "whatif")
    expect(other.get_by_role("heading", name="For operators only")).to_be_visible()


def test_without_studies_or_devices_it_says_why(board: Board, page: Page) -> None:
    sign_in(page, board.address, board.admin)
    go(page, "whatif", "What if")
    expect(page.get_by_text("No study is open")).to_be_visible()
    assert axe(page) == []
    board.study(board.tenant("ada"))
    expect(page.get_by_text("No device is present")).to_be_visible()
    board.device("gpu")
    expect(page.get_by_role("button", name="Run the simulation")).to_be_visible()
