"""The process that computes one forecast: a question on standard input, lines of JSON out.

It ends when its input does, and so with the server, however that ends.
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
from bentham.forecast.forecast import Question, forecast
from bentham.service import recover
from bentham.storage import open_log

MEMORY = 4 * 2**30
# Lines of progress alone are not worth more than this many a second.
SECONDS_BETWEEN = 0.2


def main() -> None:
    """Answer one question."""
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    said = 0.0
    try:
        for piece in _answer(request):
            if piece.keys() != {"progress"} or time.monotonic() - said > SECONDS_BETWEEN:
                said = time.monotonic()
                _say(piece)
    except BenthamError as error:
        _say({"failed": str(error)})
    except MemoryError:
        _say({"failed": f"it takes more memory than {MEMORY >> 30} GiB; ask for fewer draws"})


def _answer(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    log = open_log(request["database"], Path(request["data"]), must_exist=True)
    try:
        pool = recover(log)
    finally:
        log.close()
    question = Question(request["regret"], request["devices"], request["draws"], request["seed"])
    yield from forecast(pool, question, request["now"])


def _say(piece: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(piece, allow_nan=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _end_with_input() -> None:
    # Not through sys.stdin: whoever holds that keeps the interpreter from ending.
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    # Interrupts are for the server, which ends this in its own time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        import resource

        os.nice(10)  # whoever waits for an answer comes first
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    main()
