"""Logs of limited size: they keep the beginning and the end, and note how much is missing."""

from contextlib import suppress
from pathlib import Path

HEAD, TAIL = 256 * 2**10, 768 * 2**10  # bytes of a log on disk


class CappedLog:
    """A file that accepts any amount of output and keeps the first and last bytes.

    The end is written on closing; until then the file holds only the beginning.
    """

    def __init__(self, path: Path, head: int = HEAD, tail: int = TAIL):
        self._file = path.open("wb", buffering=0)
        self._head_left, self._tail_size = head, tail
        self._tail = bytearray()
        self._left_out = 0

    def write(self, content: bytes) -> None:
        """Add content. Write errors are ignored: a full disk must not fail a trial."""
        first = content[: self._head_left]
        if first:
            self._head_left -= len(first)
            self._write_now(first)
        self._tail += content[len(first) :]
        # Cut rarely: each cut copies the whole tail.
        if len(self._tail) > 2 * self._tail_size:
            self._cut()

    def close(self) -> None:
        """Write the end and close the file."""
        self._cut()
        if self._left_out:
            self._write_now(_gap(self._left_out))
        if self._tail:
            self._write_now(bytes(self._tail))
        self._file.close()

    def _cut(self) -> None:
        surplus = len(self._tail) - self._tail_size
        if surplus > 0:
            del self._tail[:surplus]
            self._left_out += surplus

    def _write_now(self, content: bytes) -> None:
        with suppress(OSError):
            self._file.write(content)


def shortened(path: Path, size: int) -> bytes:
    """Return a file's beginning and end, at most `size` bytes; empty if it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError:
        return b""
    if len(content) <= size:
        return content
    kept = size - 100
    head, tail = kept // 4, kept - kept // 4
    return content[:head] + _gap(len(content) - kept) + content[-tail:]


def _gap(count: int) -> bytes:
    return f"\n[... {count:,} bytes left out ...]\n".encode()
