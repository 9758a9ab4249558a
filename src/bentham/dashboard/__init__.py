"""The dashboard: the web page that `bentham serve` serves at `/`.

Plain HTML, CSS and ES modules, served as they are in `assets/`: no build step, no third-party code,
nothing loaded from other servers. The page uses the API under `/v1`, like every client.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable


def assets() -> dict[str, bytes]:
    """Return the content of every file of the page, by its path in `assets/`."""
    return dict(_within(files(__name__) / "assets", ""))


def _within(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            found += _within(each, f"{prefix}{each.name}/")
        else:
            found.append((prefix + each.name, each.read_bytes()))
    return found
