"""Runs the commands of a document in order, in one shell, and compares their output.

What is run depends on the info string of a code block:

    sh                  the block; it must succeed
    console             each line after "$ "; the lines after it are the expected output
    python              the block, as a file; an `output` block after it is the expected output
    toml algorithms.toml, and similar: the block is written to the file of that name

The comparison ignores what differs each time: ids, dates, durations, layout and the last digits of
scores. A line "..." matches any lines; "..." at the end of a line matches the rest of it. In later
commands, an id on the page is replaced by the id that was printed in its place. If the expected
output begins with "bentham: ", the command must fail with exit code 2.
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
FRAME = re.compile(r"[\u2500-\u257f]")  # box-drawing characters of tables
SCORE = re.compile(r"-?\d+\.\d+")
NEAR = 0.02  # tolerance of scores, which differ between machines
WIDTH = 80
PATIENCE = 120.0  # timeout of one command, in seconds
END = b"\x02"


class Step(NamedTuple):
    """A piece of shell code, and its expected output; None accepts any."""

    shell: str
    printed: str | None


def blocks(page: Path) -> list[tuple[str, str]]:
    """The info string and the content of each code block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def steps(page: Path, folder: Path) -> list[Step]:
    """The steps of a page; files are written to a folder first, and copied from there in order."""
    found: list[Step] = []
    for number, (words, text) in enumerate(blocks(page)):
        language, _, name = words.partition(" ")
        file = folder / f"block-{number}.{'py' if language == 'python' else 'txt'}"
        if name or language == "python":
            file.write_text(text, encoding="utf-8")
        if name:
            found.append(Step(f"cp {shlex.quote(str(file))} {shlex.quote(name)}", ""))
        elif language == "python":
            found.append(Step(f"python {shlex.quote(str(file))}", None))
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
                    continuation, _, printed = printed.partition("\n")
                    command = f"{command[:-1]}{continuation.removeprefix('> ')}"
                found.append(Step(command, printed))
    return found


class Shell:
    """A shell that runs one command after the other."""

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
        """Return the output and the exit code, which is None if the shell exited."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # In one group, which is parsed before it runs, so no command reads the next as its input.
        text = f"{{\n{command}\n}} </dev/null\nprintf '\\002%d\\002' $?\n"
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()
        printed, deadline = b"", time.monotonic() + PATIENCE
        while printed.count(END) < 2:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([self._process.stdout], [], [], remaining)[0]:
                raise AssertionError(f"{command!r} timed out; it printed\n{printed.decode()}")
            piece = os.read(self._process.stdout.fileno(), 65536)
            if not piece:
                return printed.decode(), None
            printed += piece
        output, code, _ = printed.split(END)
        return output.decode(), int(code)

    def close(self) -> None:
        """Kill the shell."""
        self._process.kill()
        self._process.communicate()


def run_page(
    page: Path,
    folder: Path,
    environment: Mapping[str, str],
    replaced: Mapping[str, str] | None = None,
) -> str:
    """Run all steps of a page in a folder; return the whole output.

    `replaced` maps texts of the page, such as the server's address, to their values in the test.
    """
    block_folder = folder / ".blocks"
    block_folder.mkdir()
    page_steps = steps(page, block_folder)
    replacements = dict(replaced or {})
    for path in block_folder.iterdir():
        path.write_text(put(path.read_text(encoding="utf-8"), replacements), encoding="utf-8")
    output = ""
    shell = Shell(folder, environment)
    try:
        for step in page_steps:
            printed, code = shell.run(put(step.shell, replacements))
            refused = (step.printed or "").startswith("bentham: ")
            context = f"{page.name}: {step.shell}\nended with {code} and printed\n{printed}"
            assert code == (2 if refused else 0), context
            if step.printed is not None:
                ids = fits(put(step.printed, dict(replaced or {})), printed)
                assert ids is not None, f"{context}\ninstead of\n{step.printed}"
                replacements |= ids
            output += printed
    finally:
        shell.close()
    return output


def fits(expected: str, printed: str) -> dict[str, str] | None:
    """Compare output, ignoring what differs each time; return a map of ids, None if different."""
    return _lines_fit(_lines(expected), _lines(printed))


class Line(NamedTuple):
    """The words of a line, with placeholders for what differs each time, and its ids."""

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


def put(text: str, replacements: Mapping[str, str]) -> str:
    """Replace each key of `replacements` in the text by its value."""
    for old, new in replacements.items():
        text = text.replace(old, new)
    return text
