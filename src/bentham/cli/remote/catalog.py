"""`bentham algorithms`, `metrics` and `costs`: the catalogue, and how well costs are predicted."""

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.formatting import cell, grid, print_json, show


def algorithms(
    as_json: AsJson = False, server: Server = DEFAULT_SERVER, token_file: TokenFile = None
) -> None:
    """List the algorithms that studies draw their candidate models from.

    For example:

    [bold]bentham algorithms[/]
    """
    with connect(server, token_file) as client:
        found = client.algorithms()
    if as_json:
        print_json(found)
        return
    table = grid(["algorithm", "~for", "~hyperparameters"])
    for one in found:
        space = ", ".join(f"{name} {values}" for name, values in one.space.items())
        tasks = " and ".join(one.tasks) or "any task"
        table.add_row(one.name, tasks, space or "none")
    show(table)


def metrics(
    as_json: AsJson = False, server: Server = DEFAULT_SERVER, token_file: TokenFile = None
) -> None:
    """List the metrics; scores are always better when larger.

    For example:

    [bold]bentham metrics[/]
    """
    with connect(server, token_file) as client:
        found = client.metrics()
    if as_json:
        print_json(found)
        return
    table = grid(["metric", "for", "~description", "~score"])
    for one in found:
        table.add_row(one.name, one.task, one.title, one.score)
    show(table)


def costs(
    as_json: AsJson = False, server: Server = DEFAULT_SERVER, token_file: TokenFile = None
) -> None:
    """Show how well trial durations were predicted: actual divided by predicted time.

    For example:

    [bold]bentham costs[/]
    """
    with connect(server, token_file) as client:
        found = client.costs()
    if as_json:
        print_json(found)
        return
    if found.all is None:
        show("No trial has ended yet.")
        return
    table = grid(
        ["~trials", ">count", ">median", ">from", ">to", ">within 1.5x", ">within 2x"],
        "Actual divided by predicted time; 80% lie between from and to",
    )
    parts = (
        ("", [found.all]),
        ("kind ", found.kinds),
        ("", found.algorithms),
        ("trials ", found.learning),
    )
    for prefix, groups in parts:
        for one in groups:
            table.add_row(
                cell(prefix + one.group),
                f"{one.trials:,}",
                f"{one.median:.2f}",
                f"{one.low:.2f}",
                f"{one.high:.2f}",
                f"{one.within_half:.0%}",
                f"{one.within_double:.0%}",
            )
        table.add_section()
    show(table)
