"""Servers and workers that a command starts by itself, as a demo or a benchmark does."""

import os
import signal
import subprocess
from collections.abc import Mapping

ENDS_WITHIN = 15.0
# A first signal asks a worker to finish what runs, a second one to give it back. Sent at once they
# could be taken for one.
BETWEEN_SIGNALS = 0.3


def own_environment(given: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without any settings of Bentham's, and what is given.

    What the shell has set for another server, as BENTHAM_DATABASE, is not meant for these.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BENTHAM_")}
    return {**kept, **given}


def end(process: "subprocess.Popen[bytes]") -> None:
    """End it in an orderly way, or else at once."""
    for seconds in (BETWEEN_SIGNALS, ENDS_WITHIN):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    process.wait()
