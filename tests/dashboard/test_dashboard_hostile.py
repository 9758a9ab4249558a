"""Names that contain markup stay text, even without the content security policy."""

from typing import Any

from playwright.sync_api import Page, Route, expect
from support.boards import Board
from support.browsers import Visits
from support.dashboards import sign_in, visit

TAKEN = "document.documentElement.dataset.taken=1"
HOSTILE = (
    f"<script>{TAKEN}</script>",
    f"\"'><img src=x onerror={TAKEN}>",
    f"</title></style><svg/onload={TAKEN}>",
    f"javascript:{TAKEN}//]]>--><iframe srcdoc='<script>parent.{TAKEN}</script>'>",
)
LAST = HOSTILE[-1]


def _without_policy(route: Route) -> None:
    """Serve the page without its content security policy."""
    response = route.fetch()
    headers = {name: value for name, value in response.headers.items() if "policy" not in name}
    assert len(headers) < len(response.headers)
    route.fulfill(response=response, headers=headers)


def _hostile_entities(board: Board) -> tuple[str, str, str, list[Any]]:
    """Create entities and trial results with hostile names; return the token, ids and leases."""
    lab = board.tenant("lab")
    gpu = board.device(kind=HOSTILE[1])
    models = {name: 1.0 + number for number, name in enumerate((*HOSTILE, "plain", "left"))}
    study = board.study(lab, " ".join(HOSTILE[:2]), models, dataset=LAST, metric=HOSTILE[0])
    board.study(lab, HOSTILE[2], models, dataset=LAST)
    leases = board.run(gpu, "gpu", lambda _: 0.5, limit=2)
    failed = board.lease(gpu)
    board.report(gpu, failed, "fail", reason="\n".join(HOSTILE), final=True).ok()
    scored = board.lease(gpu)
    metrics = dict.fromkeys(HOSTILE, 0.5)
    board.report(gpu, scored, score=0.7, metrics=metrics).ok()
    running = board.lease(gpu)
    quoted = ",".join('"{}"'.format(name.replace('"', '""')) for name in HOSTILE)
    table = f"{quoted},kind\n" + f"{quoted},a\n1,2,3,4,b\n" * 30
    dataset = board.dataset(lab, HOSTILE[1], table.encode())["id"]
    board.post("/v1/tokens", {"role": "device", "label": HOSTILE[1]}).ok(201)
    return lab, study, dataset, [*leases, failed, scored, running]


def _check_no_markup(page: Page) -> None:
    expect(page.locator("main h1").first).to_be_visible()
    found = page.evaluate(
        """() => ({
            taken: document.documentElement.dataset.taken ?? null,
            strays: document.querySelectorAll(
                "main script, main iframe, main img, main style, main svg svg, [onerror], [onload]"
            ).length,
            links: [...document.querySelectorAll("[href], [src], [action]")]
                .map(node => node.href?.baseVal ?? node.href ?? node.src ?? node.action)
                .filter(link => !link.startsWith(location.origin)),
        })"""
    )
    assert found == {"taken": None, "strays": 0, "links": []}, page.url


def test_names_stay_text_without_the_content_policy(board: Board, visits: Visits) -> None:
    lab, study, dataset, leases = _hostile_entities(board)
    for token in (lab, board.admin):
        page = visits.open()
        page.route(f"{board.address}/", _without_policy)
        sign_in(page, board.address, token)
        # The policy is really off: parsing markup does not raise an error.
        page.evaluate("document.createElement('p').innerHTML = '<b>'")
        board.study(
            lab, f"{HOSTILE[3]} {token[-4:]}", [HOSTILE[3]]
        )  # arrives as an event while the page is open
        expect(page.locator("main")).to_contain_text("<script>")
        _check_no_markup(page)
        routes = ["studies", "decisions", "heatmap", "new", "datasets", f"datasets/{dataset}"]
        routes += [f"studies/{study}", *(["devices", "tokens"] if token == board.admin else [])]
        routes += [f"decisions/{lease['trial']}" for lease in leases[-3:]]
        for route in routes:
            visit(page, route)
            if route == "heatmap":  # it names only the selected cell: the last is of `study`
                page.get_by_label("Metric").select_option("")
                page.get_by_role("grid").press("ArrowDown")
                page.get_by_role("grid").press("Control+End")
            expect(page.locator("main")).to_contain_text("onerror" if route != "new" else "")
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            _check_no_markup(page)
