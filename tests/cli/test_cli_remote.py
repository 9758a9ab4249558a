"""Commands that use a server: output in 80 columns and as JSON, and errors."""

import io
import json
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, Group
from rich.text import Text
from support.canned import DECISION, NEXT, ROUTES, SESSION, STUDY, TRIAL, WHATIF
from support.clients import TOKEN
from support.commands import Bentham, assert_refused
from support.servers import Canned

from bentham.cli.remote import status
from bentham.cli.remote.arguments import seconds_of, time_of
from bentham.cli.remote.formatting import file_name, moment, number, span
from bentham.cli.worker import device_names
from bentham.client import Client
from bentham.errors import InvalidInput, Unavailable
from bentham.wire import StudyView

COMMANDS: list[list[object]] = [
    ["tenant", "list"], ["tenant", "show", "vision"], ["tenant", "create", "vision"],
    ["tenant", "change", "vision", "--weight", 2], ["token", "list"],
    ["token", "revoke", "0123456789ab", "--yes"],
    ["study", "list"], ["study", "show", "wine"], ["study", "show", STUDY["id"]],
    ["study", "pause", "wine"], ["study", "resume", "wine"], ["study", "close", "wine"],
    ["study", "reopen", "wine"], ["study", "rename", "wine", "red wine"],
    ["study", "create", "wine", "--models", "svm"],
    ["device", "list"], ["device", "show", "gpu-0"], ["device", "leave", "gpu-0"],
    ["trial", "list"], ["trial", "list", "--study", "wine"], ["trial", "show", TRIAL["id"]],
    ["explain", TRIAL["id"]], ["explain", "wine"], ["status"], ["status", "--once"], ["whatif"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: " ".join(map(str, words)))
def test_pages_fit_80_columns_and_json_is_json(
    bentham: Bentham, canned: Canned, arguments: list[object]
) -> None:
    done = bentham(*arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out.strip()
    assert max(map(len, done.out.splitlines())) <= 80
    rows = [line for line in done.out.splitlines() if line.startswith("│")]
    assert all(row.endswith("│") for row in rows)  # nothing was cut off at the right
    assert "\x1b" not in done.out
    assert TOKEN not in done.out
    if "--once" not in arguments:
        done = bentham(*arguments, "--json")
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out)
    assert canned.requests


def test_a_study_shows_its_best_model_first(bentham: Bentham, canned: Canned) -> None:
    done = bentham("study", "show", "wine")
    _, _, table = done.out.rpartition("state")
    cells = [line.split("│") for line in table.splitlines()[1:] if "│" in line]
    rows = [model.strip() for _, model, state, *_ in cells if state.strip()]  # where one begins
    assert [row[:5] for row in rows] == ["fores", "[red]", "svm", "broke"]
    assert "0.93 by forest" in done.out
    assert "4, 2 tried, 1 untried" in done.out
    assert "after 40 trials" in done.out
    listed = json.loads(bentham("study", "show", "wine", "--json").out)
    assert listed["id"] == STUDY["id"]
    assert len(listed["candidates"]) == 4
    assert canned.requests
    incumbent = {**STUDY["incumbent"], "metrics": {"rmse": 30.28}}
    canned.responses[f"GET /v1/studies/{STUDY['id']}"] = {
        **STUDY, "metric": "rmse", "incumbent": incumbent,
    }  # fmt: skip
    assert "0.93 (from rmse 30.28) by forest" in bentham("study", "show", "wine").out


def test_a_decision_is_explained(bentham: Bentham, canned: Canned) -> None:
    text = " ".join(bentham("explain", TRIAL["id"]).out.split())
    for words in (
        "Run forest on wine",
        "wine, a study of vision",
        "1.476, weighted, over all studies that list it",
        "│ wine │ vision │ 0.125 │ 2 │ 0.25 │",
        "2 min of device time",
        "EI rate 1.23e-02 per second given what is running; if nothing else were, it would be "
        "2.08e-03 per second",
        "Gain per study, if nothing else were running",
        "│ (this one) │ wine │ wine │ vision │ 1.23e-02 │",
        "The weights: a heavier study came first; otherwise: the quality of wine",
        "The limit on device time: nlp used its day; the model it displaced belongs to "
        "another tenant.",
    ):
        assert words in text
    for reason in ("warm-start", "starvation-guard"):
        canned.responses[f"GET /v1/decisions/{TRIAL['id']}"] = {
            **DECISION, "reason": reason, "value": None, "gains": [], "runners_up": [],
            "changes": [],
        }  # fmt: skip
        text = " ".join(bentham("explain", TRIAL["id"]).out.split())
        assert "EI rate alone 2.08e-03 per second No rule" in text
        assert "given what is running" not in text
        assert "No rule visible to you changed the outcome." in text
        assert "Gain per study" not in text


def test_a_study_is_explained_by_its_latest_and_its_next_decision(
    bentham: Bentham, canned: Canned
) -> None:
    text = " ".join(bentham("explain", "wine").out.split())
    latest, _, following = text.partition("What comes next")
    assert latest.startswith("Study wine is open, 2 of 4 models tried, 1 running. Its latest")
    assert "Run forest on wine" in latest
    assert following == (
        " Run svm No device is alive to run it; start a worker. "
        "Of 1 models left, it has the highest expected improvement per second. "
        "EI rate: 0.0004 per second."
    )
    assert json.loads(bentham("explain", "wine", "--json").out) == {
        "latest": json.loads(bentham("explain", TRIAL["id"], "--json").out),
        "next": NEXT,
    }
    canned.responses["GET /v1/decisions"] = {"items": []}
    nothing = dict.fromkeys(["model", "expected_improvement", "cost", "rate", "value"])
    canned.responses[f"GET /v1/studies/{STUDY['id']}/next"] = {
        **NEXT, **nothing, "reason": "The study is paused; resume it.",
    }  # fmt: skip
    text = " ".join(bentham("explain", "wine").out.split())
    assert "None yet: a decision is made when a device is free." in text
    assert text.endswith("What comes next The study is paused; resume it.")


def test_a_what_if_is_answered_in_a_sentence(bentham: Bentham, canned: Canned) -> None:
    text = " ".join(bentham("whatif").out.split())
    assert text.startswith(
        "With 8 devices instead of 4, mean regret is expected to fall below 0.02 in 14 h (14 to "
        "17 h) instead of in 28 h (27 to 35 h); under round robin with 8: in 14 h (14 to 17 h"
    )
    assert "│ requested 8 │ 14 h │" in text
    never = [{**each, "median": None, "low": None, "high": None} for each in WHATIF["answers"]]
    request = {"devices": 1, "now": 1}
    canned.responses["POST /v1/whatif"] = {**WHATIF, **request, "answers": never}
    text = " ".join(bentham("whatif").out.split())
    assert "With 1 device, mean regret" in text
    assert "after the simulated period (90% of the samples reached it); under round" in text
    notes = ["No study is being served, so there is nothing to simulate.", "Others pause."]
    nothing = {**WHATIF, "answers": [], "now": 0, "notes": notes}
    canned.responses["POST /v1/whatif"] = {**nothing, "studies": 0}
    assert bentham("whatif").out == (
        "Nothing to simulate: no study is being served.\nNote: Others pause.\n"
    )
    canned.responses["POST /v1/whatif"] = nothing
    assert bentham("whatif").out.startswith("Nothing could be simulated within the time limit.")
    at_once = [{**each, "median": 0.0, "low": 0.0, "high": 0.0} for each in WHATIF["answers"]]
    reached = {**WHATIF, "answers": at_once, "regret": 0.5, "estimate": 0.25, "notes": []}
    canned.responses["POST /v1/whatif"] = reached
    assert " ".join(bentham("whatif").out.split()) == (
        "Estimated mean regret is 0.25 now, which is already at most 0.5. Choose a lower level "
        "with --regret."
    )
    day = 86400.0
    days = [
        {**each, "median": 5.8 * day, "low": 5.3 * day, "high": 23.6 * day}
        for each in WHATIF["answers"]
    ]
    canned.responses["POST /v1/whatif"] = {**WHATIF, "answers": days}
    out = bentham("whatif").out
    assert "│ 5.3 to 24 days │" in out
    assert "…" not in out  # nothing is cut off in 80 columns
    canned.responses["POST /v1/whatif"] = {**WHATIF, "state": "failed", "reason": "no memory"}
    assert_refused(bentham, "whatif", contains=["the simulation failed: no memory"])
    assert_refused(bentham, "whatif", "--regret", -1, contains=["above zero"])


def test_options_of_a_new_study(bentham: Bentham, canned: Canned, tmp_path: Path) -> None:
    file = tmp_path / "models.csv"
    file.write_text("model,cost\nsvm,30\n boosting ,\n")
    stops = ["--max-trials", 9, "--max-cost", 60, "--deadline", "+2h", "--min-gain", 0.01]
    bentham("study", "create", "wine", "--models", "svm=30,a=b=2, boosting", "--tenant", "vision")
    bentham("study", "create", "wine", "--models-file", file, *stops)
    first, second = canned.bodies("POST /v1/studies")
    assert first["models"] == {"svm": 30.0, "a=b": 2.0, "boosting": None}
    assert first["tenant"] == "vision"
    assert second["models"] == {"svm": 30.0, "boosting": None}
    assert second["stop"]["deadline"] == pytest.approx(time.time() + 7200, abs=60)
    assert second["stop"]["trials"] == 9


def test_waiting_for_a_study(
    bentham: Bentham, canned: Canned, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = bentham("study", "wait", "wine", "--timeout", "0.3s")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "wine: open, 2 of 4 tried, 1 running, best 0.93 by forest, 83 min of device time",
        "bentham: wine: not closed after 0.3 s; the study continues; to wait again: bentham study "
        "wait wine",
    ]
    path = f"GET /v1/studies/{STUDY['id']}"
    closed = {**STUDY, "state": "closed", "reason": "every model was tried", "untried": 0}
    canned.responses[path] = closed
    done = bentham("study", "wait", "wine")
    assert done.code == 0
    assert "closed: every model was tried" in done.out
    assert done.err.startswith("wine: closed, 3 of 4 tried")
    done = bentham("study", "create", "wine", "--models", "svm", "--follow", "--json")
    assert (done.code, json.loads(done.out)["state"]) == (0, "closed")

    def interrupted(*_: object) -> Iterator[StudyView]:
        yield StudyView(**STUDY)
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "watch", interrupted)
    done = bentham("study", "create", "wine", "--models", "svm", "--follow")
    assert done.code == 130
    assert "study        wine" in done.out
    assert "no longer waiting; the study continues" in done.err
    assert not any(request.startswith(f"POST /v1/studies/{STUDY['id']}/close")
                   for request, _ in canned.requests)  # fmt: skip


def test_limits_are_changed_one_by_one(bentham: Bentham, canned: Canned) -> None:
    bentham("tenant", "change", "vision", "--running-trials", 3)
    bentham("tenant", "change", "vision", "--device-seconds-per-day", "none")
    changed, removed = canned.bodies("PATCH /v1/tenants/vision")
    assert changed == {"limits": {"running_trials": 3, "device_seconds_per_day": 3600.0}}
    assert removed == {"limits": {"running_trials": None, "device_seconds_per_day": None}}


def test_a_secret_is_written_for_its_owner_only(
    bentham: Bentham, canned: Canned, tmp_path: Path
) -> None:
    out = tmp_path / "device.token"
    command = ["token", "create", "--role", "device", "--expires-in", "30d"]
    done = bentham(*command, "--out", out, "--json")
    assert done.code == 0
    assert "secret" not in json.loads(done.out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert out.read_text() == "bth_the-new-secret\n"
    assert_refused(bentham, *command, "--out", out, contains=["exists already"])
    assert len(canned.bodies("POST /v1/tokens")) == 1  # refused before it was issued
    assert canned.bodies("POST /v1/tokens")[0]["expires_in"] == 30 * 86400
    done = bentham(*command)
    assert done.out == "bth_the-new-secret\n"
    assert "only once" in done.err
    assert json.loads(bentham(*command, "--json").out)["secret"] == "bth_the-new-secret"


def test_a_secret_that_was_not_issued_leaves_no_file(
    bentham: Bentham, canned: Canned, tmp_path: Path
) -> None:
    del canned.responses["POST /v1/tokens"]
    out = tmp_path / "device.token"
    assert_refused(
        bentham, "token", "create", "--role", "device", "--out", out, contains=["no POST"]
    )
    assert not out.exists()


def test_a_reopened_study_says_when_it_stops(bentham: Bentham, canned: Canned) -> None:
    assert "It stops " in bentham("study", "reopen", "wine").out
    assert canned.requests[-1][0].endswith("/reopen")


def test_history_goes_in_and_out(bentham: Bentham, canned: Canned, tmp_path: Path) -> None:
    file = tmp_path / "past.csv"
    file.write_text("study,model,score\nwine,svm,0.9\n")
    assert "6 runs of 3 models in 2 studies" in bentham("history", "import", file).out
    assert canned.requests[-1][1] == file.read_text()
    assert bentham("history", "export").out == ROUTES["GET /v1/history"]
    out = tmp_path / "out.csv"
    assert bentham("history", "export", "--out", out).out == ""
    assert out.read_text() == ROUTES["GET /v1/history"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["study", "show", "beer"], "there is no study 'beer'"),
        (["study", "create", "x"], "nothing to train"),
        (["study", "create", "", "--models", "a"], "name: is empty; give a name"),
        (["study", "create", "x", "--models", "svm=fast"], "the cost of 'svm' is 'fast'"),
        (["study", "create", "x", "--models", "svm=-1"], "models.svm: is not a valid cost"),
        (["study", "create", "x", "--models", "svm,,a"], "a model has no name"),
        (["study", "create", "x", "--models", "svm,svm"], "is listed twice"),
        (["study", "create", "x", "--models-file", "none.csv"], "none.csv"),
        (["study", "create", "x", "--models", "a", "--deadline", "soon"], "as 2026-11-16T18:00"),
        (["study", "reopen", "wine", "--max-cost", "-1"], "cost: Input should be greater than 0"),
        (["token", "revoke", "0123456789ab"], "add --yes"),
        (["token", "create", "--role", "king"], "role: choose 'admin', 'tenant' or 'device'"),
        (["token", "create", "--role", "devise"], "did you mean 'device'?"),
        (["token", "create", "--role", "device", "--expires-in", "long"], "for example 30d"),
        (["tenant", "show", "nobody"], "there is no GET /v1/tenants/nobody"),
        (["tenant", "show", "../tokens"], "not a valid name of a tenant"),
        (["tenant", "change", "vision"], "nothing to change"),
        (["tenant", "change", "vision", "--running-trials", "few"], "--running-trials"),
        (["history", "import", "none.csv"], "no such file"),
        (["history", "export", "--out", "no/such/file"], "there is no directory"),
        (["status", "--server", "nowhere"], "as in http://127.0.0.1:8642"),
        (["worker", "--table", "oboe:8", "--name", "-x"], "--name is '-x'"),
        (["worker", "--table", "nope"], "nope"),
        (["worker", "--executor", "replay"], "name a table with --table"),
        (["worker", "--executor", "process", "--table", "oboe:8"], "remove them"),
        (["worker", "--scale", "2"], "need --executor replay"),
        (["worker", "--memory", "lots"], "give a size such as 512M or 2G"),
        (["worker", "--memory", "1M"], "give at least 16 MiB"),
        (["worker", "--time-limit", "0"], "give a number above zero"),
        (["worker", "--algorithms", "none.toml"], "none.toml: cannot be read"),
        (["worker", "--pass-environment", "NOT_SET_AT_ALL"], "which is not set"),
        (["worker", "--folder", "/dev/null/x"], "name another folder with --folder"),
        (["worker", "--address", "auto"], "needs --executor ray"),
        (["worker", "--executor", "ray", "--table", "oboe:8"], "need --executor replay"),
        (["worker", "--executor", "ray", "--name", "x" * 51], "longer than 63"),
    ],
)  # fmt: skip
def test_errors(bentham: Bentham, canned: Canned, arguments: list[object], words: str) -> None:
    assert_refused(bentham, *arguments, contains=[words])
    assert canned.address


def test_an_ambiguous_study_name(bentham: Bentham, canned: Canned) -> None:
    twins = [STUDY, {**STUDY, "id": "s_0000000000000002"}]
    canned.responses["GET /v1/studies"] = {"items": twins, "next": None}
    words = ["2 studies are named 'wine'", "s_0000000000000001, s_0000000000000002"]
    assert_refused(bentham, "study", "pause", "wine", contains=words)


def test_no_server(bentham: Bentham, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENTHAM_TOKEN", TOKEN)
    monkeypatch.setattr("bentham.client.connection.LONGEST_PAUSE", 1e-3)
    monkeypatch.setattr("bentham.cli.connect.PATIENCE", 0.01)
    words = ["cannot connect to http://127.0.0.1:9"]
    assert_refused(bentham, "status", "--server", "http://127.0.0.1:9", contains=words)


def test_parsing_and_formatting() -> None:
    assert [seconds_of("x", text) for text in ("90", "1.5m", "2h", "30d")] == [
        90.0, 90.0, 7200.0, 2592000.0,
    ]  # fmt: skip
    assert time_of("x", "2026-11-16T18:00+00:00") == 1794852000.0
    for text in ("", "-1h", "1y", "٣d", "1e9"):
        with pytest.raises(InvalidInput):
            seconds_of("x", text)
    assert [number(value) for value in (None, 0.0, 0.93, 12345.6, 1e9)] == [
        "-", "0", "0.93", "12,346", "1.00e+09",
    ]  # fmt: skip
    assert [span(value) for value in (None, 0.5, 90.0, 300.0, 86400.0 * 9)] == [
        "-", "0.5 s", "90 s", "5 min", "9 days",
    ]  # fmt: skip


def test_names_of_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_names("gpu", 2) == ["gpu-0", "gpu-1"]
    assert device_names(None, 1) != device_names(None, 1)
    monkeypatch.setattr("socket.gethostname", lambda: "ümlaut_box.example.org")
    assert device_names(None, 1)[0].startswith("mlaut-box-")
    monkeypatch.setattr("socket.gethostname", lambda: "é")
    assert device_names(None, 1)[0].startswith("worker-")
    for prefix in ("", "-a", "a b", "ä", "x" * 63):
        with pytest.raises(InvalidInput, match="--name"):
            device_names(prefix, 1)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("sklearn:iris", "sklearn-iris"),
        ("churn.csv", "churn.csv"),
        ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"),
        ("...", "unnamed"),
    ],
)
def test_file_names_contain_no_path(name: str, file: str) -> None:
    assert file_name(name) == file


@pytest.mark.parametrize("role", ["operator", "tenant"])
def test_the_status_fits_a_small_terminal(canned: Canned, role: str) -> None:
    overview: dict[str, Any] = dict(ROUTES["GET /v1/overview"])  # type: ignore[call-overload]
    found: dict[str, Any] = dict(ROUTES["GET /v1/status"])  # type: ignore[call-overload]
    (tenant,), (run,), (study,) = overview["tenants"], found["running"], found["studies"]
    own = role == "tenant"
    overview |= {"tenants": [tenant] * (1 if own else 9), "no_device": True}
    overview |= {"devices": None} if own else {}
    found |= {"running": [run] * 9, "studies": [study] * 9}
    found |= {"idle": [], "away": []} if own else {}
    canned.responses |= {"GET /v1/overview": overview, "GET /v1/status": found}
    console = Console(width=80, record=True, file=io.StringIO(), highlight=False)
    with Client(canned.address, TOKEN) as client:
        console.print(status.render(client, rows=24))
    text = console.export_text()
    lines = text.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert "1.0 min of about" not in text
    assert "60.0 s of about 2 min" in text
    for words in (
        ["12.5 average-pr", "0.93", "0.5", "+0.1", "7/40"]
        if own
        else ["4 present, 3 busy, 1 away", "no device is alive", "a trial to end (limit)"]
    ):
        assert words in text


def test_the_live_status_survives_an_outage_that_begins_with_the_first_update(
    canned: Canned, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    views: Iterator[Group | BaseException] = iter(
        [Group(Text("all is well")), Unavailable("the server is down"), KeyboardInterrupt()]
    )

    def render(*_: object) -> Group:
        view = next(views)
        if isinstance(view, BaseException):
            raise view
        return view

    monkeypatch.setattr(status, "render", render)
    with Client(canned.address, TOKEN) as client:
        status.watch(client, every=0.0)
    out = capsys.readouterr().out
    assert "all is well" in out
    assert "the server is down" in out


def test_trials_are_listed_with_their_study(bentham: Bentham, canned: Canned) -> None:
    trial = {**TRIAL, "study_name": "churn", "model": "forest", "dataset": "d" * 40}
    canned.responses["GET /v1/trials"] = {"items": [trial], "next": None}
    assert "vision/churn" in bentham("trial", "list").out
    canned.responses["GET /v1/session"] = {**SESSION, "role": "tenant", "tenant": "vision"}
    (row,) = (line for line in bentham("trial", "list").out.splitlines() if TRIAL["id"] in line)
    assert [cell.strip() for cell in row.split("│")][2:4] == ["churn", "forest"]


def test_a_token_that_was_revoked_before(bentham: Bentham, canned: Canned) -> None:
    token = {**canned.responses["GET /v1/tokens"]["items"][0], "revoked": 1.8e9}  # type: ignore[index]
    canned.responses["GET /v1/tokens"] = {"items": [token]}
    canned.responses[f"DELETE /v1/tokens/{token['id']}"] = token
    done = bentham("token", "revoke", token["id"])  # no confirmation: nothing changes
    assert done.out == f"Token {token['id']} was revoked at {moment(1.8e9)}.\n"


def test_one_device_away_is_not_the_first(bentham: Bentham, canned: Canned) -> None:
    assert "; since " in bentham("status", "--once").out
    overview: Any = canned.responses["GET /v1/overview"]
    devices = {**overview["devices"], "away": 2}
    canned.responses["GET /v1/overview"] = {**overview, "devices": devices}
    assert "; the first since " in bentham("status", "--once").out
