"""The server's log: text for people at a terminal, JSON for programs."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Bentham, assert_refused

pytestmark = pytest.mark.outside

PROGRAM = """
import logging, sys, structlog
from bentham.http.logs import configure_logs
configure_logs("info", sys.argv[1])
logger = structlog.get_logger("bentham.http")
logger.info("request", method="GET", path="/v1/a\\x1b[2Jb\\nc", status=200, reason="two words")
logging.getLogger("library").warning("from a library")
logger.debug("not shown")
"""


def on_terminal(program: str, *arguments: str, **environment: str) -> str:
    """Return what the program writes to standard error if that is a terminal."""
    ours, terminal = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with os.fdopen(ours, "rb", buffering=0) as shown:
        command = [sys.executable, "-W", "error", "-c", program, *arguments]
        subprocess.run(command, stderr=terminal, env={**variables, **environment}, check=True)
        os.close(terminal)
        text = b""
        try:
            while piece := shown.read(4096):
                text += piece
        except OSError:  # the end of the output of a terminal
            pass
    return text.decode()


def piped(program: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stderr


def check_text(text: str) -> None:
    first, second = text.splitlines()
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[info +\] request +method=GET ", first)
    assert first.endswith("status=200 reason='two words'")
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[warning +\] from a library$", second)


def check_json(text: str) -> None:
    first, second = (json.loads(line) for line in text.splitlines())
    assert first["event"] == "request"
    assert first["path"] == "/v1/a\x1b[2Jb\nc"
    assert first["logger"] == "bentham.http"
    assert second["event"] == "from a library"
    assert second["level"] == "warning"


def test_a_terminal_gets_coloured_lines_for_people() -> None:
    text = on_terminal(PROGRAM, "auto")
    assert "\x1b[0m" in text
    check_text(re.sub(r"\x1b\[[0-9;]*m", "", text))


def test_no_color_is_respected() -> None:
    text = on_terminal(PROGRAM, "auto", NO_COLOR="1")
    assert "\x1b" not in text
    check_text(text)


def test_the_worker_respects_no_color() -> None:
    program = "from bentham.worker.logs import make_log; make_log().info('leased', trial=7)"
    assert "\x1b[0m" in on_terminal(program)
    assert "trial=7" in on_terminal(program, NO_COLOR="1")
    assert "\x1b" not in on_terminal(program, NO_COLOR="1")


def test_control_characters_reach_no_terminal() -> None:
    text = on_terminal(PROGRAM, "auto")
    assert "\x1b[2J" not in text
    assert r"/v1/a\x1b[2Jb\nc" in text


def test_a_pipe_gets_json() -> None:
    check_json(piped(PROGRAM, "auto"))


def test_the_format_can_be_chosen() -> None:
    check_json(on_terminal(PROGRAM, "json"))
    text = piped(PROGRAM, "text")
    assert "\x1b" not in text
    check_text(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lease", "10", "--heartbeat", "2", "--away", "9"], "--away 9 is too short for --lease"),
        (["--log-format", "xml"], "the log format is 'xml'; choose 'auto', 'text' or 'json'"),
        (["--log-level", "wraning"], "'warning' or 'error'; did you mean 'warning'?"),
    ],
)
def test_unknown_choices_are_refused(
    bentham: Bentham, options: list[str], message: str, tmp_path: Path
) -> None:
    assert_refused(bentham, "serve", "--data", tmp_path, *options, contains=[message])
