"""Makes docs/reference.md from the code: `python tools/make_reference.py`."""

import importlib
import inspect
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import typer

from bentham.cli import app

DOCUMENT = Path(__file__).parent.parent / "docs" / "reference.md"
MODULES = ("bentham", "bentham.core", "bentham.sim", "bentham.tables")


def plain(text: str | None) -> str:
    """Text without the markup of the terminal."""
    return " ".join(re.sub(r"\\?\[/?(bold|dim)?\]|\\", "", text or "").split())


def command_lines(command: Any, name: str) -> list[str]:
    """A command, its arguments and options; a group's commands after it."""
    if hasattr(command, "commands"):
        return [
            line
            for child in command.commands.values()
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


def signature(thing: object) -> str:
    """Parameters by name; their types are in the code."""
    try:
        parameters = inspect.signature(thing).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    return f"({', '.join(name for name in parameters if name != 'self')})"


def member_lines(thing: type) -> list[str]:
    """The public methods and properties that a class defines."""
    lines = []
    for name, member in vars(thing).items():
        function = member.fget if isinstance(member, property) else member
        if isinstance(member, staticmethod):
            function = member.__func__
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        shown = name if isinstance(member, property) else f"{name}{signature(function)}"
        lines.append(f"  - `{shown}`: {plain((function.__doc__ or '').split('.', 1)[0])}.")
    return lines


def name_lines(module: str, documented: set[object]) -> list[str]:
    """The public names of a module; what another module has shown already is only named."""
    lines = [f"### `{module}`", ""]
    loaded = importlib.import_module(module)
    for name in sorted(loaded.__all__):
        thing = getattr(loaded, name)
        if isinstance(thing, type | FunctionType) and thing in documented:
            lines.append(f"- `{name}`: see above")
            continue
        if inspect.isclass(thing) or inspect.isfunction(thing):
            documented.add(thing)
            lines.append(f"- `{name}{signature(thing)}`: {plain(inspect.getdoc(thing))}")
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                lines += member_lines(thing)
    return [*lines, ""]


def reference() -> str:
    """The whole document."""
    lines = ["# Reference", "", "Made from the code by `tools/make_reference.py`.", ""]
    lines += ["## Commands", ""]
    lines += command_lines(typer.main.get_command(app), "bentham")
    lines += ["## Names", ""]
    documented: set[object] = set()
    for module in MODULES:
        lines += name_lines(module, documented)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(reference())
