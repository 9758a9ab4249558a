"""Generate docs/reference.md and docs/events.md: `python tools/make_reference.py`."""

import dataclasses
import importlib
import inspect
import re
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import typer

from bentham.cli import app
from bentham.service.fold.lifecycles import LIFECYCLES
from bentham.service.fold.table import ENTRIES
from bentham.training.boosting import BOOSTING
from bentham.training.metrics import METRICS
from bentham.training.zoo import ZOO

DOCS = Path(__file__).parent.parent / "docs"
MODULES = (
    "bentham",
    "bentham.core",
    "bentham.sim",
    "bentham.tables",
    "bentham.client",
    "bentham.executors",
    "bentham.training.spaces",
    "bentham.wire",
    "bentham.errors",
)


def plain(text: str | None) -> str:
    """Return text without terminal markup."""
    return " ".join(re.sub(r"\\?\[/?(bold|dim)?\]|\\", "", text or "").split())


SECTION = re.compile(r"\n\s*(Args|Attributes|Returns|Raises):\n")


def described(subject: Any, indent: str) -> list[str]:
    """Return the docstring of a subject: a paragraph, then one item per argument or attribute."""
    text, *sections = SECTION.split("\n" + (inspect.getdoc(subject) or "") + "\n")
    lines = [plain(text)]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        items: list[str] = []
        for line in inspect.cleandoc(body).splitlines():
            if line.startswith(" ") and items:
                items[-1] += line
            elif line:
                items.append(line)
        for item in items:
            name, colon, meaning = item.partition(": ")
            shown = f"`{name}`: {plain(meaning)}" if colon else plain(item)
            note = "" if title in ("Args", "Attributes") else f"{title.lower()} "
            lines.append(f"{indent}- {note}{shown}")
    return lines


def command_lines(command: Any, name: str) -> list[str]:
    """Return the lines of a command with its arguments and options, or of a group's commands."""
    if hasattr(command, "commands"):
        return [
            line
            for child in map(partial(command.get_command, None), command.list_commands(None))
            for line in command_lines(child, f"{name} {child.name}")
        ]
    lines = [f"### `{name}`", "", plain(command.help), ""]
    lines += ["| | | default |", "| --- | --- | --- |"]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        is_option = parameter.param_type_name == "option"
        title = parameter.opts[0] if is_option else parameter.metavar or parameter.name
        flag = is_option and getattr(parameter, "is_flag", False)
        metavar = "" if flag or not is_option else f" {parameter.metavar or 'VALUE'}"
        default = parameter.default
        shown = "" if default is None or flag or not is_option else f"`{default}`"
        lines.append(f"| `{title}{metavar}` | {plain(parameter.help)} | {shown} |")
    return [*lines, ""]


def signature(subject: Any) -> str:
    """Return the parameter names; the types are in the code."""
    if inspect.isclass(subject) and (
        getattr(subject, "_is_protocol", False) or issubclass(subject, Enum)
    ):
        return ""
    names = [name for name in inspect.signature(subject).parameters if name not in ("self", "cls")]
    return f"({', '.join(names)})"


def member_lines(subject: type) -> list[str]:
    """Return the lines of the public methods, properties and values of a class.

    Includes those of base classes in the same package: Client, for example, is made of several.
    """
    if issubclass(subject, Enum):
        return [f"  - `{member.value}`" for member in subject]
    lines = []
    package = subject.__module__.rpartition(".")[0]
    parts = [base for base in subject.__mro__ if base.__module__.rpartition(".")[0] == package]
    members: dict[str, Any] = {}
    for part in parts:
        members |= {name: member for name, member in vars(part).items() if name not in members}
    for name, member in members.items():
        function = member.fget if isinstance(member, property) else member
        if isinstance(member, staticmethod | classmethod):
            function = member.__func__
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        shown = name if isinstance(member, property) else f"{name}{signature(function)}"
        first, *rest = described(function, "    ")
        lines += [f"  - `{shown}`: {first}", *rest]
    return lines


def name_lines(module: str, documented: set[int]) -> list[str]:
    """Return the public names of a module; names documented before refer to that."""
    lines = [f"### `{module}`", ""]
    loaded = importlib.import_module(module)
    for name in sorted(loaded.__all__):
        subject = getattr(loaded, name)
        if inspect.isclass(subject) or inspect.isfunction(subject):
            if id(subject) in documented:
                lines.append(f"- `{name}`: see above")
                continue
            documented.add(id(subject))
            shown = (
                ""
                if inspect.isclass(subject) and issubclass(subject, Exception)
                else signature(subject)
            )
            first, *rest = described(subject, "  ")
            lines += [f"- `{name}{shown}`: {first}", *rest]
            lines += member_lines(subject) if inspect.isclass(subject) else []
        elif isinstance(subject, str | int | float | tuple):
            lines.append(f"- `{name}`: `{subject!r}`")
        elif isinstance(subject, dict):
            lines.append(f"- `{name}`: by name: {', '.join(f'`{key}`' for key in subject)}")
        else:  # a type alias
            lines.append(f"- `{name}`: a type, see the code")
    return [*lines, ""]


def catalogue_lines() -> list[str]:
    """Return the built-in algorithms and the metrics."""
    lines = [
        "## Algorithms",
        "",
        "The built-in algorithms. `bentham algorithms` also lists those added by the operator.",
        "",
    ]
    lines += ["| name | algorithm | parameters (default) |", "| --- | --- | --- |"]
    for spec in [*ZOO, *BOOSTING]:
        varies = "; ".join(
            f"`{name}` {space} ({spec.defaults[name]})" for name, space in spec.parameters.items()
        )
        extra = ", with the extra `boosting`" if spec in BOOSTING else ""
        kinds = " and ".join(spec.tasks)
        lines.append(f"| `{spec.name}` | {spec.title}{extra}: {kinds} | {varies or 'nothing'} |")
    lines += ["", "## Metrics", "", "A higher score is always better.", ""]
    lines += ["| name | task | metric | score |", "| --- | --- | --- | --- |"]
    for metric in METRICS.values():
        lines.append(f"| `{metric.name}` | {metric.task} | {metric.title} | {metric.score} |")
    return [*lines, ""]


def reference() -> str:
    """Return docs/reference.md."""
    lines = ["# Reference", "", "Generated from the code by `tools/make_reference.py`.", ""]
    lines += [
        "## Commands",
        "",
        "`bentham --version` shows the version; every command has `--help`.",
        "",
    ]
    lines += command_lines(typer.main.get_command(app), "bentham")
    lines += catalogue_lines()
    lines += ["## Names", ""]
    documented: set[int] = set()
    for module in MODULES:
        lines += name_lines(module, documented)
    return "\n".join(lines).rstrip() + "\n"


def events() -> str:
    """Return docs/events.md."""
    lines = [
        "# Events and states",
        "",
        "Generated from the code by `tools/make_reference.py`.",
        "",
        "The service stores every change as an event in an append-only log. Its state is computed "
        "from the log alone.",
        "",
        "## Events",
        "",
        "*For tenants*: whether the tenant concerned sees the event in its own stream "
        "(`GET /v1/events`). Operators see all of them. *Opens*: whether the event can make work "
        "available, so that waiting devices try again.",
        "",
        "| event | what happened | fields | for tenants | opens |",
        "| --- | --- | --- | --- | --- |",
    ]
    for entry in ENTRIES:
        description = plain((entry.event.__doc__ or "").split("\n\n")[0])
        fields = ", ".join(f"`{each.name}`" for each in dataclasses.fields(entry.event))
        for_tenants = "yes" if entry.owned else ""
        opens = "yes" if entry.opens else ""
        lines.append(f"| `{entry.kind}` | {description} | {fields} | {for_tenants} | {opens} |")
    lines += ["", "## States", ""]
    for cycle in LIFECYCLES:
        lines += [f"### {cycle.name.capitalize()}", "", "| state | meaning |", "| --- | --- |"]
        lines += [f"| `{state}` | {meaning} |" for state, meaning in cycle.states.items()]
        lines += ["", "| from | event | to | when |", "| --- | --- | --- | --- |"]
        for each in cycle.transitions:
            before = ", ".join(f"`{state}`" for state in each.before)
            lines.append(f"| {before} | `{each.event}` | `{each.after}` | {each.when} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    (DOCS / "reference.md").write_text(reference())
    (DOCS / "events.md").write_text(events())
