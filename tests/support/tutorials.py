"""Runs a document: its commands in order, in one shell, and compares what they print.

What is run of a page, by the words behind the three ticks:

    sh                  the block; it has to succeed
    console             each line after "$ "; what follows it is what it prints
    python              the block, as a file of its own; an `output` after it is what it prints
    toml algorithms.toml, and the like: the block is written to the file of that name

What is printed is compared but for what differs each time: ids, dates, spans of time, layout and
the last digits of scores. A line of "..." stands for any lines, "..." in one for the rest of it. An
id that a page shows stands, in later commands, for the one that was printed there. A command that
is refused, which begins to print with "bentham: ", ends with exit code 2.
"""

import os
import re
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ID = re.compile(r"\b[a-z]_[0-9a-f]{16}\b|\b[0-9a-f]{12}\b")
VARYING = (
    (ID, "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d(T| )\d\d:\d\d\S*"), "<date>"),
    (re.compile(r"\b\d[\d.,]* (s|min|h|d)\b"), "<span>"),
)
FRAME = re.compile(r"[\u2500-\u257f]")  # what tables are drawn with
SCORE = re.compile(r"-?\d+\.\d+")
NEAR = 0.02  # scores that differ by less are the same, on another machine
WIDTH = 80
PATIENCE = 120.0  # with one command
END = b"\x02"


class Step(NamedTuple):
    """A piece of shell, and what it should print; None: whatever it does."""

    shell: str
    printed: str | None


def blocks(page: Path) -> list[tuple[str, str]]:
    """The words behind the ticks, and what stands between them."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def steps(page: Path, folder: Path) -> list[Step]:
    """What is to be done; files go to a folder first, and from there to their place in turn."""
    found: list[Step] = []
    for number, (words, text) in enumerate(blocks(page)):
        language, _, name = words.partition(" ")
        kept = folder / f"block-{number}.{'py' if language == 'python' else 'txt'}"
        if name or language == "python":
            kept.write_text(text, encoding="utf-8")
        if name:
            found.append(Step(f"cp {shlex.quote(str(kept))} {shlex.quote(name)}", ""))
        elif language == "python":
            found.append(Step(f"python {shlex.quote(str(kept))}", None))
        elif language == "output":
            found[-1] = Step(found[-1].shell, text)
        elif language == "sh":
            found.append(Step(f"set -e\n{text}set +e", None))
        elif language == "console":
            first, *commands = re.split(r"^\$ ", text, flags=re.MULTILINE)
            assert not first, f"{page.name}: begin the block with '$ ': {first!r}"
            for each in commands:
                command, _, printed = each.partition("\n")
                while command.endswith("\\"):
                    more, _, printed = printed.partition("\n")
                    command = f"{command[:-1]}{more.removeprefix('> ')}"
                found.append(Step(command, printed))
    return found


class Shell:
    """A shell that is told one thing after the other."""

    def __init__(self, folder: Path, environment: Mapping[str, str]):
        self._process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "COLUMNS": str(WIDTH),
                **environment,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, command: str) -> tuple[str, int | None]:
        """What it printed, and its exit code; None if the shell ended with it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # As one group, read before any of it is run: so no command takes the next for its input.
        text = f"{{\n{command}\n}} </dev/null\nprintf '\\002%d\\002' $?\n"
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()
        printed, until = b"", time.monotonic() + PATIENCE
        while printed.count(END) < 2:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise AssertionError(f"{command!r} does not end; it printed\n{printed.decode()}")
            piece = os.read(self._process.stdout.fileno(), 65536)
            if not piece:
                return printed.decode(), None
            printed += piece
        said, code, _ = printed.split(END)
        return said.decode(), int(code)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


def run_page(
    page: Path,
    folder: Path,
    environment: Mapping[str, str],
    replaced: Mapping[str, str] | None = None,
) -> str:
    """Do all that a page says, in a folder; all that was printed.

    `replaced` are texts of the page that mean something else here, such as the server's address.
    """
    kept = folder / ".blocks"
    kept.mkdir()
    todo = steps(page, kept)
    meanings = dict(replaced or {})
    for path in kept.iterdir():
        path.write_text(put(path.read_text(encoding="utf-8"), meanings), encoding="utf-8")
    everything = ""
    shell = Shell(folder, environment)
    try:
        for step in todo:
            printed, code = shell.run(put(step.shell, meanings))
            refused = (step.printed or "").startswith("bentham: ")
            told = f"{page.name}: {step.shell}\nended with {code} and printed\n{printed}"
            assert code == (2 if refused else 0), told
            if step.printed is not None:
                ids = fits(put(step.printed, dict(replaced or {})), printed)
                assert ids is not None, f"{told}\ninstead of\n{step.printed}"
                meanings |= ids
            everything += printed
    finally:
        shell.close()
    return everything


def fits(expected: str, printed: str) -> dict[str, str] | None:
    """Whether this was printed, but for what differs each time; and which ids mean which."""
    return _lines_fit(_lines(expected), _lines(printed))


class Line(NamedTuple):
    """The words of a line, but for what differs each time; and its ids."""

    words: list[str]
    ids: list[str]


def _lines(text: str) -> list[Line]:
    found = []
    for line in text.splitlines():
        plain = FRAME.sub(" ", line)
        for pattern, name in VARYING:
            plain = pattern.sub(name, plain)
        if words := plain.split():
            found.append(Line(words, ID.findall(line)))
    return found


def _lines_fit(expected: list[Line], printed: list[Line]) -> dict[str, str] | None:
    if not expected:
        return None if printed else {}
    rest = expected[1:]
    if expected[0].words == ["..."]:
        tries = (_lines_fit(rest, printed[skip:]) for skip in range(len(printed) + 1))
        return next((ids for ids in tries if ids is not None), None)
    if not printed or not _words_fit(expected[0].words, printed[0].words):
        return None
    ids = _lines_fit(rest, printed[1:])
    return None if ids is None else dict(zip(expected[0].ids, printed[0].ids, strict=False)) | ids


def _words_fit(expected: list[str], printed: list[str]) -> bool:
    if expected[-1] == "...":
        expected = expected[:-1]
        printed = printed[: len(expected)]
    return len(expected) == len(printed) and all(map(_word_fits, expected, printed))


def _word_fits(expected: str, printed: str) -> bool:
    def outline(text: str) -> str:
        return SCORE.sub("<score>", text)

    if outline(expected) != outline(printed):
        return False
    pairs = zip(SCORE.findall(expected), SCORE.findall(printed), strict=True)
    return all(abs(float(one) - float(other)) <= NEAR for one, other in pairs)


def put(text: str, meanings: Mapping[str, str]) -> str:
    """The text, with what it means here."""
    for this, that in meanings.items():
        text = text.replace(this, that)
    return text
