"""`bentham whatif`: estimate when mean regret reaches a level with more or fewer devices."""

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.progress import progress_bar
from bentham.cli.remote.formatting import grid, number, plain, print_json, show, span
from bentham.errors import InvalidInput, ServiceError
from bentham.wording import counted

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.wire import WhatIf, WhatIfAnswer

STEPS = 1000  # of the progress bar
# Seconds between polls: short at first, since small pools are fast.
SECONDS_BETWEEN = (*(0.25,) * 12, 1.0)
BENTHAM, ROUND_ROBIN = "bentham", "round-robin"


def whatif(
    devices: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            metavar="K",
            help="Number of devices to simulate. [dim]\\[default: twice the current number][/]",
            show_default=False,
        ),
    ] = None,
    regret: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Mean regret to reach. [dim]\\[default: half of that in bentham status][/]",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            min=1,
            max=256,
            metavar="N",
            help="Number of draws (sampled scores); more are more precise and take longer.",
        ),
    ] = 16,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Estimate when mean regret would fall below a level with a different number of devices.

    Simulates from the current posterior, under Bentham's policy and under round robin. Needs an
    admin token. For example:

    [bold]bentham whatif --devices 8 --regret 0.02[/]
    """
    if regret is not None and not regret > 0.0:
        raise InvalidInput(f"--regret is {regret:g}; give a number above zero")
    with connect(server, token_file) as client:
        answer = _wait_for(client, client.ask_what_if(regret, devices, draws))
        if answer.state != "complete":
            ending = "was cancelled" if answer.state == "cancelled" else "failed"
            raise ServiceError(f"the simulation {ending}: {answer.reason}")
        if as_json:
            print_json(answer)
        else:
            show(*page(answer))


def _wait_for(client: "Client", job: "WhatIf") -> "WhatIf":
    """Wait for the result; an interrupt cancels the job."""
    found, polls = job, 0
    with progress_bar(STEPS) as bar:
        try:
            while found.state in ("waiting", "running"):
                bar.describe("simulating" if found.state == "running" else "waiting in the queue")
                bar.advance_to(int(STEPS * found.progress))
                time.sleep(SECONDS_BETWEEN[min(polls, len(SECONDS_BETWEEN) - 1)])
                polls += 1
                found = client.what_if(job.id)
        except KeyboardInterrupt:
            client.cancel_what_if(job.id)
            raise
    return found


def page(found: "WhatIf") -> list[RenderableType]:
    """Render the result: one sentence, then a table by number of devices, then notes."""
    parts: list[RenderableType] = [Text(sentence(found), style="bold")]
    studies = counted(found.studies, "open study", "open studies")
    if found.answers and not _already_reached(found):
        parts += [Text(""), _table(found)]
        parts.append(
            Text(
                f"Estimated mean regret over {studies} is "
                f"{number(found.estimate)} now. Times are medians over {found.simulated} samples "
                "from the posterior, bands run from the 10th to the 90th percentile; - and ? "
                "mean later than the simulated period."
            )
        )
    notes = found.notes if found.studies else found.notes[1:]  # the first note repeats the sentence
    parts += [Text(plain(f"Note: {note}")) for note in notes]
    return parts


def _already_reached(found: "WhatIf") -> bool:
    """Whether the level is not below the current regret, so that there is no time to tell."""
    return found.estimate <= found.regret or all(answer.high == 0.0 for answer in found.answers)


def sentence(found: "WhatIf") -> str:
    """Return the result in one sentence."""
    known = {(answer.devices, answer.policy): answer for answer in found.answers}
    expected, now = known.get((found.devices, BENTHAM)), known.get((found.now, BENTHAM))
    round_robin = known.get((found.devices, ROUND_ROBIN))
    if not found.studies:
        return "Nothing to simulate: no study is being served."
    if expected is None:
        return "Nothing could be simulated within the time limit."
    if _already_reached(found):
        estimate, level = number(found.estimate), number(found.regret)
        advice = " Choose a lower level with --regret." if found.estimate else ""
        if found.estimate <= found.regret:
            text = f"Estimated mean regret is {estimate} now, which is already at most {level}."
        else:
            text = f"Mean regret is estimated as {estimate}, but is at most {level} in all samples."
        return text + advice
    text = "With 1 device" if found.devices == 1 else f"With {found.devices} devices"
    if found.now != found.devices:
        text += f" instead of {found.now}"
    text += f", mean regret is expected to fall below {number(found.regret)} {_time(expected)}"
    if now is not None and now is not expected:
        text += f" instead of {_time(now)}"
    if round_robin is not None:
        text += f"; under round robin with {found.devices}: {_time(round_robin)}"
    return f"{text}."


def _time(answer: "WhatIfAnswer") -> str:
    if answer.median is None:
        return f"after the simulated period ({answer.reached:.0%} of the samples reached it)"
    return f"in {span(answer.median)} ({_band(answer)})"


def _band(answer: "WhatIfAnswer") -> str:
    low, high = span(answer.low), "?" if answer.high is None else span(answer.high)
    unit = " " + high.partition(" ")[2]  # shown only once, to leave room for the other columns
    return f"{low.removesuffix(unit)} to {high}"


def _table(found: "WhatIf") -> RenderableType:
    table = grid([">devices", ">Bentham", "~10 to 90 %", ">round robin", "~10 to 90 %"])
    known = {(answer.devices, answer.policy): answer for answer in found.answers}
    marks = {found.devices: "requested ", found.now: "now "}
    for devices in sorted({answer.devices for answer in found.answers}):
        cells = [f"{marks.get(devices, '')}{devices}"]
        for policy in (BENTHAM, ROUND_ROBIN):
            answer = known.get((devices, policy))
            if answer is None:
                cells += ["-", "-"]
            else:
                cells.append(span(answer.median))
                cells.append("-" if answer.low is None else _band(answer))
        table.add_row(*cells)
    return table
