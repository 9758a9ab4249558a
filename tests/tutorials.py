"""Runs a document: its commands in order, in one shell, and compares what they print.

What is run of a page, by the words behind the three ticks:

    sh                  the block; it has to succeed
    console             each line after "$ "; what follows it is what it prints
    python              the block, as a file of its own; an `output` after it is what it prints
    toml algorithms.toml, and the like: the block is written to the file of that name

What is printed is compared but for what differs each time: ids, dates, spans of time, layout and
the last digits of scores. A line of "..." stands for any lines, "..." in one for the rest of it. A
command that is refused, which begins to print with "bentham: ", ends with exit code 2.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (
    (re.compile(r"\b[a-z]_[0-9a-f]{16}\b|\b[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d(T| )\d\d:\d\d\S*"), "<date>"),
    (re.compile(r"\b\d[\d.,]* (s|min|h|d)\b"), "<span>"),
)
FRAME = re.compile(r"[\u2500-\u257f]")  # what tables are drawn with
SCORE = re.compile(r"-?\d+\.\d+")
NEAR = 0.02  # scores that differ by less are the same, on another machine
WIDTH = 80
PATIENCE = 240.0


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
    shell = ["exec 2>&1"]
    for number, step in enumerate(todo):
        shell += [f"printf '\\n\\001%d\\n' {number}", step.shell, "printf '\\n\\002%d\\n' $?"]
    script = kept / "script.sh"
    script.write_text("\n".join(shell) + "\n", encoding="utf-8")
    for path in kept.iterdir():
        text = path.read_text(encoding="utf-8")
        for this, that in (replaced or {}).items():
            text = text.replace(this, that)
        path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["bash", script],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "COLUMNS": str(WIDTH),
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    for number, step in enumerate(todo):
        part = re.search(rf"\n\x01{number}\n(.*?)(\n\x02(\d+)\n|\Z)", done.stdout, re.DOTALL)
        assert part is not None, f"{page.name}: {step.shell!r} was not reached:\n{done.stdout}"
        printed, code = part[1], part[3]
        refused = (step.printed or "").startswith("bentham: ")
        told = f"{page.name}: {step.shell}\nended with {code} and printed\n{printed}"
        assert code == ("2" if refused else "0"), told
        if step.printed is not None:
            assert fits(step.printed, printed), f"{told}\ninstead of\n{step.printed}"
    return done.stdout


def fits(expected: str, printed: str) -> bool:
    """Whether this was printed, but for what differs each time."""
    return _lines_fit(_lines(expected), _lines(printed))


def _lines(text: str) -> list[list[str]]:
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return [words for line in text.splitlines() if (words := FRAME.sub(" ", line).split())]


def _lines_fit(expected: list[list[str]], printed: list[list[str]]) -> bool:
    if not expected:
        return not printed
    if expected[0] == ["..."]:
        rest = expected[1:]
        return any(_lines_fit(rest, printed[skip:]) for skip in range(len(printed) + 1))
    return (
        bool(printed)
        and _line_fits(expected[0], printed[0])
        and _lines_fit(expected[1:], printed[1:])
    )


def _line_fits(expected: list[str], printed: list[str]) -> bool:
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
