"""Lines for live views in a terminal: cells of fixed widths, bars, and what a device runs."""

from rich.text import Text

BAR = 24  # characters
FULL, FAINT, ACCENT = "bold green", "bright_black", "bold"


def line(*cells: tuple[Text | str, int]) -> Text:
    """Join cells with a space between, each cropped or padded to its width."""
    joined = Text(no_wrap=True, overflow="crop")
    for place, (content, width) in enumerate(cells):
        cell = Text(content) if isinstance(content, str) else content.copy()
        if cell.justify == "right":
            cell.pad_left(max(0, width - cell.cell_len))
        cell.truncate(width, overflow="ellipsis", pad=True)
        joined.append(" " if place else "").append_text(cell)
    return joined


def bar(share: float, width: int = BAR) -> Text:
    """Return a bar that is full at 1."""
    full = round(min(1.0, max(0.0, share)) * width)
    return Text.assemble(("━" * full, FULL), ("┄" * (width - full), FAINT))


def trial_line(
    device: str, share: float, times: str, study: str, model: str, widths: tuple[int, int, int]
) -> Text:
    """Return what a device runs: a bar with the share of the expected time, the study, the model.

    The widths are those of the device, the bar and the rest.
    """
    first, second, third = widths
    description = Text.assemble((f"{times}  ", FAINT), (f"{study}: ", ACCENT), model)
    return line((Text(device, FAINT), first), (bar(share, second), second), (description, third))


def idle_line(device: str, width: int) -> Text:
    """Return the line of a device that runs nothing."""
    return line((Text(device, FAINT), width), (Text("idle", FAINT), BAR))
