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
    table = grid(["algorithm", "?~for", "~hyperparameters"])
    for algorithm in found:
        space = ", ".join(f"{name} {values}" for name, values in algorithm.space.items())
        tasks = " and ".join(algorithm.tasks) or "any task"
        table.add_row(algorithm.name, tasks, space or "none")
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
    table = grid(["metric", "???~also", "?~for", "~description", "??~score"])
    for metric in found:
        also = ", ".join(metric.aliases) or "-"
        table.add_row(metric.name, also, metric.task, metric.title, metric.score)
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
        "Actual / predicted time; for 80% of the trials it is between from and to",
    )
    parts = (
        ("", [found.all]),
        ("kind ", found.kinds),
        ("", found.algorithms),
        ("trials ", found.learning),
    )
    for prefix, groups in parts:
        for accuracy in groups:
            table.add_row(
                cell(prefix + accuracy.group),
                f"{accuracy.trials:,}",
                f"{accuracy.median:.2f}",
                f"{accuracy.low:.2f}",
                f"{accuracy.high:.2f}",
                f"{accuracy.within_half:.0%}",
                f"{accuracy.within_double:.0%}",
            )
        table.add_section()
    show(table)
