"""Make docs/images/demo.svg, a picture of the demo's live view, from a real run.

Run `python tools/make_demo_picture.py`; it takes as long as half a demo.
"""

import io
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from bentham.client import Client
from bentham.demo.look import query_progress
from bentham.demo.screen import WIDTH, Screen

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "demo.svg"
SHARE = 0.45  # share of models tried when the picture is taken
# Removed, so that the picture loads nothing from the network.
FONT_FACE = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
ADDRESS = re.compile(r"It is at (http://\S+),")


def address_of(process: "subprocess.Popen[str]") -> str:
    """Return the service address that the demo prints."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := ADDRESS.search(line):
            return found[1]
    raise SystemExit("the demo exited before its service started")


def main() -> None:
    """Run the demo, render its live view, and save the picture halfway."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        command = [sys.executable, "-m", "bentham", "demo", "--folder", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                address = address_of(process)
                screen = Screen(address)
                with Client(
                    address, (folder / "data" / "admin.token").read_text().strip()
                ) as client:
                    while True:
                        progress = query_progress(client)
                        picture = screen.picture(progress)
                        if progress.models and progress.tried >= SHARE * progress.models:
                            break
                        time.sleep(0.5)
                console = Console(width=WIDTH, record=True, file=io.StringIO(), highlight=False)
                console.print(picture)
                svg = console.export_svg(title="bentham demo")
                PICTURE.write_text(FONT_FACE.sub("", svg))
            finally:
                process.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
