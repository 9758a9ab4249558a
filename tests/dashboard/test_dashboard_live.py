"""Pages while they open, are left or fail to load: no event is lost, nothing leaks."""

from pathlib import Path

from playwright.sync_api import Page, Route, expect
from support.boards import Board
from support.browsers import Visits
from support.dashboards import go, panel, sign_in, tab

OUT_OF_DATE = "The data may be out of date"
# A timeline with more trials than it keeps, newest first as in the server's response.
MANY_TRIALS = """async () => {
  const { timeline } = await import("/assets/timeline.js");
  const now = 1e9;
  const signal = AbortSignal.abort();
  const shown = timeline({ colourBy: () => "", say() {}, now: () => now, signal });
  const trials = Array.from({ length: 5002 }, (_, place) => ({
    id: place, device: "gpu", started: now - 100, ended: now - 10, state: "complete" }));
  Object.assign(trials.at(-1), { ended: null, state: "running", cost: 1 });
  shown.set({ trials, devices: [] }, 3600);
  shown.draw();
  return [shown.trials.has(0), shown.trials.has(5001), shown.trials.size, shown.cut()];
}"""
DURATIONS = """async seconds => {
  const { duration } = await import("/assets/format.js");
  return seconds.map(duration);
}"""


def test_events_during_loading_are_not_missed(board: Board, page: Page) -> None:
    lab, gpu = board.tenant("lab"), board.device()
    study = board.study(lab)
    lease = board.lease(gpu)
    sign_in(page, board.address, lab)

    def slow(route: Route) -> None:
        # The page has read the trials; this one ends before the page is shown.
        page.wait_for_timeout(300)
        board.report(gpu, lease, score=0.5).ok()
        page.wait_for_timeout(300)
        route.continue_()

    page.route(f"**/v1/studies/{study}/next", slow, times=1)
    go(page, f"studies/{study}", "s")
    tab(page, "Trials")
    expect(panel(page, "Trials").get_by_role("row").nth(1)).to_contain_text("complete")


LISTEN_LATE = """async () => {
  const { live } = await import("/assets/live.js");
  const heard = [];
  const { signal } = new AbortController();
  live.listen((event) => heard.push(event), signal, live.eventCount - 1000);
  return heard;
}"""


def test_a_page_that_missed_more_events_than_are_kept_is_told_to_read_again(
    board: Board, page: Page
) -> None:
    lab = board.tenant("lab")
    sign_in(page, board.address, lab)
    assert page.evaluate(LISTEN_LATE) == [None]


def test_a_study_without_recent_trials_has_its_name(board: Board, page: Page) -> None:
    lab, gpu = board.tenant("lab"), board.device()
    board.study(lab, "sleeper")
    sign_in(page, board.address, board.admin)
    expect(panel(page, "Latest trials")).to_contain_text("No trials yet")
    board.lease(gpu)
    expect(panel(page, "Latest trials").get_by_role("row").nth(1)).to_contain_text("sleeper")


def test_a_failed_update_is_reported_and_retried(board: Board, page: Page, visits: Visits) -> None:
    lab = board.tenant("lab")
    board.device()
    board.study(lab, "first")
    sign_in(page, board.address, lab)
    go(page, "studies", "Studies")
    visits.expect("500 (Internal")
    page.route("**/v1/studies?*", lambda route: route.fulfill(status=500, body="{}"), times=1)
    board.study(lab, "second")
    expect(page.locator("#banner")).to_contain_text(OUT_OF_DATE)
    expect(page.locator("#banner")).not_to_contain_text(OUT_OF_DATE)
    expect(page.get_by_role("link", name="second")).to_be_visible()


def test_another_tab_signs_out_and_another_user_signs_in(
    board: Board, page: Page, visits: Visits
) -> None:
    lab = board.tenant("lab")
    board.study(lab)
    sign_in(page, board.address, board.admin)
    go(page, "new", "New study")  # a page that sends no requests by itself
    other = page.context.new_page()
    other.goto(board.address)
    visits.allow("401 (Unauthorized)")
    other.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    other.close()
    sign_in(page, board.address, board.admin)
    # Another user signs in before the first tab notices the end of the session.
    page.evaluate(
        """async token => {
          const headers = { "Content-Type": "application/json" };
          const request = { method: "POST", body: JSON.stringify({ token }), headers };
          const { id, csrf } = await (await fetch("/v1/session", request)).json();
          localStorage.setItem("bentham-session", JSON.stringify({ id, csrf }));
        }""",
        lab,
    )
    expect(page.locator(".who")).to_have_text("lab")
    expect(page.get_by_role("link", name="What if")).to_have_count(0)


def test_a_401_of_an_old_session_does_not_sign_out(
    board: Board, page: Page, visits: Visits
) -> None:
    lab = board.tenant("lab")
    board.study(lab, "mine")
    sign_in(page, board.address, lab)
    visits.expect("401 (Unauthorized)")
    go(page, "new", "New study")  # the overview also reads studies, now and then
    page.route("**/v1/studies?*", lambda route: route.fulfill(status=401, body="{}"), times=1)
    page.evaluate("location.hash = '#/studies'")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="mine")).to_be_visible()
    expect(page.locator(".who")).to_have_text("lab")


def test_left_pages_leak_nothing(board: Board, page: Page) -> None:
    lab, gpu = board.tenant("lab"), board.device()
    study = board.study(lab)
    board.run(gpu, "gpu", lambda _: 0.5)
    sign_in(page, board.address, board.admin)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def walk() -> tuple[float, float]:
        for _ in range(5):
            for route, title in (
                ("", "Overview"),
                (f"studies/{study}", "s"),
                ("studies", "Studies"),
            ):
                go(page, route, title)
                # For screen readers and keyboards, the focus is on the new page.
                expect(page.locator("main")).to_be_focused()
        session.send("HeapProfiler.collectGarbage")
        found = {
            each["name"]: each["value"]
            for each in session.send("Performance.getMetrics")["metrics"]
        }
        return found["JSEventListeners"], found["Nodes"]

    walk()
    before, after = walk(), walk()
    assert after[0] < before[0] + 10, (before, after)
    assert after[1] < before[1] + 300, (before, after)


def test_the_timeline_keeps_the_newest_and_running_trials(board: Board, page: Page) -> None:
    page.goto(board.address)
    assert page.evaluate(MANY_TRIALS) == [True, True, 5000, True]
    formatted = page.evaluate(DURATIONS, [59, 60, 70, 90, 599, 3600, 5400])
    assert formatted == [
        "59 s",
        "1 min",
        "1 min 10 s",
        "1 min 30 s",
        "9 min 59 s",
        "1 h",
        "1 h 30 min",
    ]


def test_enter_acts_on_its_field_only(
    board: Board, page: Page, visits: Visits, tmp_path: Path
) -> None:
    lab = board.tenant("lab")
    board.dataset(lab, "wide.csv")
    wide = tmp_path / "wide.csv"
    names = [f"c{each}" for each in range(24)]
    row = ",".join("1" for _ in names)
    wide.write_text(",".join([*names, "class"]) + "\n" + f"{row},x\n{row},y\n" * 10)
    sign_in(page, board.address, lab)
    go(page, "new", "New study")
    visits.expect("409 (Conflict)")
    page.get_by_label("Drop a CSV or Parquet file here").set_input_files(wide)
    name = page.get_by_label("Dataset name")
    name.fill("wider")
    name.press("Enter")
    find = page.get_by_label("Find a column")
    find.fill("c7")
    find.press("Enter")
    expect(page.get_by_role("rowheader", name="c7")).to_be_visible()
    expect(page.get_by_label("Column to predict")).to_have_value("class")
    assert board.get("/v1/studies", lab)["items"] == []
    assert page.title() == "New study · Bentham"
