"""Algorithms that run a command of the operator, defined as a template in a TOML file.

    [algorithms.our-net]
    title = "Our network"
    command = "python train.py --lr {lr} --data {data} --target={target} --seed {seed}"
    tasks = ["classification"]

    [algorithms.our-net.parameters.lr]
    low = 1e-4
    high = 1e-1
    log = true
    default = 1e-3

The command is split into words first, then the placeholders in each word are filled in; no shell
is involved. It prints its score (larger is better) as a line of JSON: see `reports`.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from bentham.errors import InvalidInput
from bentham.training.parameters import Setting
from bentham.training.spaces import AlgorithmSpec, Choice, Parameter, Real, Whole
from bentham.training.training_plan import Task, TrainingPlan

# The placeholders for a study's data; `seed` is available without data, too.
OF_DATA = ("data", "format", "target", "task", "metric")
_PLACEHOLDERS = (*OF_DATA, "seed")
_TASKS: tuple[Task, ...] = ("classification", "regression")


def read_commands(file: Path) -> list[AlgorithmSpec]:
    """Read the algorithms of a file; raises if any is invalid, so that none is silently missing."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read ({error.strerror}); check the path") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{file}: is not valid TOML ({error}); correct it there") from None
    _check_keys(content, {"algorithms"}, f"{file}")
    algorithms = _table(content.get("algorithms", {}), f"{file}: algorithms")
    return [
        _read(name, _table(fields, f"{file}: algorithms.{name}"), f"{file}: algorithms.{name}")
        for name, fields in algorithms.items()
    ]


def placeholders(training: TrainingPlan | None, path: str) -> dict[str, str]:
    """Return the values of a command's placeholders, apart from its configuration."""
    if training is None:
        return {"seed": "0"}
    return {
        "data": path,
        "format": training.format,
        "target": training.target,
        "task": training.task,
        "metric": training.metric,
        "seed": str(training.split.seed),
    }


def command_line(
    spec: AlgorithmSpec, configuration: Mapping[str, Setting], values: Mapping[str, str]
) -> list[str]:
    """Return the words of the command, filled in, to run without a shell."""
    settings = {name: _text(value) for name, value in spec.check(configuration).items()}
    words = []
    for word in spec.command:
        # The tenant chooses the column's name: it must not become an option of the command.
        if word.startswith("{target}") and values.get("target", "").startswith("-"):
            raise InvalidInput(
                f"the target {values['target']!r} would be read as an option of the command; "
                "rename the column, or write --target={target} in the template"
            )
        words.append(word.format_map({**values, **settings}))
    return words


def _read(name: str, fields: Mapping[str, Any], place: str) -> AlgorithmSpec:
    _check_keys(fields, {"title", "family", "command", "tasks", "parameters"}, place)
    command = _words(fields.get("command"), place)
    parameters: dict[str, Parameter] = {}
    defaults: dict[str, Setting] = {}
    spaces = _table(fields.get("parameters", {}), f"{place}.parameters")
    for each, space in spaces.items():
        here = f"{place}.parameters.{each}"
        if each in _PLACEHOLDERS:
            raise InvalidInput(f"{here}: {each} is filled in by Bentham; choose another name")
        parameters[each], defaults[each] = _parameter(_table(space, here), here)
    _check_placeholders(command, parameters, place)
    tasks = fields.get("tasks", [])
    if not isinstance(tasks, list) or any(task not in _TASKS for task in tasks):
        raise InvalidInput(f"{place}.tasks: is {tasks!r:.100}; list {' or '.join(_TASKS)}, or both")
    if tasks and not any("{data}" in word for word in command):
        raise InvalidInput(f"{place}.tasks: the command has no {{data}}; add it, or remove tasks")
    try:
        return AlgorithmSpec(
            name=name,
            title=_string(fields.get("title", name), f"{place}.title"),
            family=_string(fields.get("family", name), f"{place}.family"),
            command=command,
            tasks=tuple(dict.fromkeys(tasks)),
            parameters=parameters,
            defaults=defaults,
        )
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _words(command: object, place: str) -> tuple[str, ...]:
    try:
        text = " ".join(command.splitlines()) if isinstance(command, str) else command
        words = tuple(shlex.split(_string(text, f"{place}.command")))
    except ValueError as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{place}.command: {error}; close quotes and end escapes") from None
    if not words or "{" in words[0]:
        raise InvalidInput(f"{place}.command: start it with the program to run")
    return words


def _check_placeholders(
    command: tuple[str, ...], parameters: Mapping[str, Parameter], place: str
) -> None:
    used: set[str] = set()
    for word in command:
        try:
            placeholders_in_word = [
                part[1:] for part in Formatter().parse(word) if part[1] is not None
            ]
        except ValueError as error:
            raise InvalidInput(
                f"{place}.command: {word!r} ({error}); write {{{{ and }}}} for literal braces"
            ) from None
        for field, specification, conversion in placeholders_in_word:
            if specification or conversion or not re.fullmatch(r"\w+", field or ""):
                raise InvalidInput(
                    f"{place}.command: {word!r} has a placeholder that is not a plain name; write "
                    "{name}, and {{ and }} for literal braces"
                )
            used.add(field or "")
    unknown = sorted(used - set(parameters) - set(_PLACEHOLDERS))
    if unknown:
        raise InvalidInput(
            f"{place}.command: {{{unknown[0]}}} is unknown; declare it under parameters, or use "
            f"one of {', '.join(_PLACEHOLDERS)}"
        )
    unused = [name for name in parameters if name not in used]
    if unused:
        raise InvalidInput(
            f"{place}.parameters.{unused[0]}: is declared, but the command has no {{{unused[0]}}}; "
            "add it there, or remove the parameter"
        )
    if "data" not in used and used & set(OF_DATA):
        raise InvalidInput(
            f"{place}.command: has {{{min(used & set(OF_DATA))}}} but no {{data}}; add {{data}}"
        )


def _parameter(fields: Mapping[str, Any], place: str) -> tuple[Parameter, Setting]:
    _check_keys(fields, {"low", "high", "log", "choices", "ordered", "default"}, place)
    try:
        space = _space(fields, place)
    except InvalidInput as error:
        raise error if str(error).startswith(place) else InvalidInput(f"{place}: {error}") from None
    default = fields.get("default", space.at(0.5))
    if isinstance(space, Real) and type(default) is int:
        default = float(default)
    if not space.holds(default):
        raise InvalidInput(f"{place}.default: is {default!r:.100}; give {space}")
    return space, default


def _space(fields: Mapping[str, Any], place: str) -> Parameter:
    if ("choices" in fields) == ("low" in fields or "high" in fields):
        raise InvalidInput(f"{place}: give either low and high, or choices")
    log, ordered = fields.get("log", False), fields.get("ordered", False)
    for name, switch in (("log", log), ("ordered", ordered)):
        if not isinstance(switch, bool):
            raise InvalidInput(f"{place}.{name}: is {switch!r:.100}; write true or false")
    if "choices" in fields:
        choices = fields["choices"]
        if not isinstance(choices, list) or not all(
            isinstance(each, str | int | float | bool) for each in choices
        ):
            raise InvalidInput(f"{place}.choices: give a list of texts, numbers, true or false")
        return Choice(tuple(choices), ordered)
    ends = [fields.get("low"), fields.get("high")]
    if any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends):
        raise InvalidInput(
            f"{place}: low is {ends[0]!r:.100} and high is {ends[1]!r:.100}; give two numbers"
        )
    low, high = ends
    if isinstance(low, int) and isinstance(high, int):
        return Whole(low, high, log)
    assert low is not None
    assert high is not None
    return Real(float(low), float(high), log)


def _text(value: Setting) -> str:
    """Return a value as a word of a command line: texts unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _string(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidInput(f"{place}: is {value!r:.100}; write a text on one line")
    return value


def _table(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{place}: is {value!r:.100}; write a table, [{place.split(': ')[-1]}]")
    return value


def _check_keys(fields: Mapping[str, Any], allowed: set[str], place: str) -> None:
    unknown = sorted(set(fields) - allowed)
    if unknown:
        raise InvalidInput(
            f"{place}: the key {unknown[0][:100]!r} is unknown; remove it, or use one of "
            f"{', '.join(sorted(allowed))}"
        )
