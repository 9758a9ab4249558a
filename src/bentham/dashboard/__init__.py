"""The dashboard: the web page that `bentham serve` has at `/`.

Plain HTML, styles and ES modules, as they are in `assets/`: no build step, nothing of anybody
else's, nothing fetched from elsewhere. The page asks the API under `/v1`, as every client does.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable


def assets() -> dict[str, bytes]:
    """The content of every file of the page, by its path within the folder."""
    return dict(_within(files(__name__) / "assets", ""))


def _within(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            found += _within(each, f"{prefix}{each.name}/")
        else:
            found.append((prefix + each.name, each.read_bytes()))
    return found
