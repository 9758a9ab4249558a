"""The process that computes one forecast: reads a question as JSON, writes lines of JSON.

It ends when its standard input is closed, and so with the server, however that ends.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bentham.errors import BenthamError
from bentham.forecast.forecast import forecast
from bentham.service import Question, recover
from bentham.storage import open_log

MEMORY = 4 * 2**30
# The minimum time between lines that contain only the progress.
SECONDS_BETWEEN = 0.2


def main() -> None:
    """Answer one question."""
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    written = 0.0
    try:
        for piece in _answer(request):
            if piece.keys() != {"progress"} or time.monotonic() - written > SECONDS_BETWEEN:
                written = time.monotonic()
                _write(piece)
    except BenthamError as error:
        _write({"failed": str(error)})
    except MemoryError:
        _write({"failed": f"it needs more than {MEMORY >> 30} GiB of memory; use fewer draws"})


def _answer(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    question = Question(**request["question"])
    log = open_log(request["database"], Path(request["data"]), must_exist=True)
    try:
        pool = recover(log, until=question.sequence)
    finally:
        log.close()
    yield from forecast(pool, question)


def _write(piece: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(piece, allow_nan=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _end_with_input() -> None:
    # Not through sys.stdin: a thread that reads from it holds its lock, so the interpreter cannot
    # exit.
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    # The server handles interrupts, and stops this process itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        import resource

        os.nice(10)  # requests to the server have priority
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    main()
