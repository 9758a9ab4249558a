"""Makes docs/images/demo.svg, the demo's live view, from a real run of it.

`python tools/make_demo_picture.py`, which takes as long as half a demo does.
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
from bentham.demo.look import look
from bentham.demo.screen import WIDTH, Screen

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "demo.svg"
SHARE = 0.45  # of the models that are trained when it is taken
FONT_FACE = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)  # a picture fetches nothing
ADDRESS = re.compile(r"It is at (http://\S+),")


def address_of(process: "subprocess.Popen[str]") -> str:
    """Where the demo says that its service is."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := ADDRESS.search(line):
            return found[1]
    raise SystemExit("the demo ended before its service began")


def main() -> None:
    """Run the demo, look at it as it does itself, and keep what is seen halfway."""
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
                        seen = look(client)
                        picture = screen.picture(seen)
                        if seen.models and seen.tried >= SHARE * seen.models:
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
