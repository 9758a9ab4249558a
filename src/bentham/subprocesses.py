"""Helpers for commands that start servers and workers, such as the demo and benchmarks."""

import os
import signal
import subprocess
from collections.abc import Mapping

ENDS_WITHIN = 15.0
# The first SIGTERM makes a worker finish its running trials, the second makes it release them.
# Two signals sent at once could be merged into one.
BETWEEN_SIGNALS = 0.3


def own_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without BENTHAM_* variables, plus `variables`.

    Variables that the shell sets for another server, such as BENTHAM_DATABASE, must not apply.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BENTHAM_")}
    return {**kept, **variables}


def end(process: "subprocess.Popen[bytes]") -> None:
    """Terminate the process gracefully; kill it if that takes too long."""
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
