"""The lines said in each room: numbered, kept in a file, and found again after a restart."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

KEPT_LINES = 10_000

Line = dict[str, Any]


class Room:
    """The last lines of one room, and the keys by which retries of them are recognised."""

    def __init__(self, start: int = 0) -> None:
        self.last = start
        self._lines: deque[Line] = deque()
        self._numbers: dict[tuple[str, str], int] = {}

    def add(self, line: Line) -> None:
        """Adds the next line, for which the oldest may have to go."""
        if line["seq"] != self.last + 1:
            # A hole, which a file of `chat serve` may have.
            self._lines.clear()
            self._numbers.clear()
        if len(self._lines) == KEPT_LINES:
            oldest = self._lines.popleft()
            self._numbers.pop((oldest["from"], oldest["id"]), None)
        self.last = line["seq"]
        self._lines.append(line)
        self._numbers[(line["from"], line["id"])] = line["seq"]

    def number(self, sender: str, key: str) -> int | None:
        """The number of a line that was taken before."""
        return self._numbers.get((sender, key))

    def after(self, seq: int) -> list[Line]:
        """The kept lines that follow the one with that number."""
        missed = min(self.last - seq, len(self._lines))
        return list(islice(self._lines, len(self._lines) - missed, None)) if missed > 0 else []


class History:
    """All rooms. With a file, a line has left this process before anybody gets it: not even SIGKILL loses it.

    The file has one line of JSON for the numbering, and one for each line of the chat, which is the payload of its
    `message`. `FILE.lock` keeps a second server away.
    """

    def __init__(self, path: Path | None) -> None:
        self._rooms: dict[str, Room] = {}
        self._file: int | None = None
        self._header: Line = {"numbering": secrets.token_hex(8), "start": 0}
        if path is not None:
            self._lock = _lock(path)
            for line in _read(path):
                if "numbering" in line:
                    self._header |= line
                else:
                    self._rooms.setdefault(line["room"], Room()).add(line)
            self._file = self._rewrite(path)

    @property
    def numbering(self) -> str:
        """What tells the numbers of these lines from those of another history."""
        return self._header["numbering"]

    def room(self, name: str) -> Room:
        """A room, which is empty when nothing was said in it yet."""
        return self._rooms.get(name) or Room(self._header["start"])

    def append(self, room: str, sender: str, text: str, key: str) -> Line:
        """Numbers a new line and keeps it; raises `OSError`, and keeps nothing of it, when it cannot be written."""
        seq = self.room(room).last + 1
        line = {"room": room, "from": sender, "text": text, "id": key, "seq": seq}
        if self._file is not None:
            _write(self._file, _encoded(line))
        self._rooms.setdefault(room, self.room(room)).add(line)
        return line

    def _rewrite(self, path: Path) -> int:
        """Replaces the file by one with the kept lines alone, and returns it open for more."""
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        # The lines are private, and where other people have access their links must not be followed.
        file = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
        _write(file, _encoded(self._header))
        for room in self._rooms.values():
            _write(file, b"".join(_encoded(line) for line in room.after(0)))
        os.fsync(file)
        fresh.rename(path)
        return file


def _lock(path: Path) -> int:
    """Locks the history until this process ends, however it ends."""
    file = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(f"the history {path} is in use by another server") from None
    return file


def _read(path: Path) -> Iterator[Line]:
    try:
        *lines, _ = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    # What follows the last line break was being written when the server died: nobody has heard of it.
    for number, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
            texts = ("numbering",) if "numbering" in line else ("room", "from", "text", "id")
            valid = all(isinstance(line[name], str) for name in texts)
            valid = valid and isinstance(line.get("start", 0) if "numbering" in line else line["seq"], int)
        except (ValueError, TypeError, KeyError, RecursionError):
            valid = False
        if not valid:
            raise OSError(f"line {number} of the history {path} is damaged; move the file away to start anew")
        yield line


def _encoded(line: Line) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _write(file: int, data: bytes) -> None:
    size = os.fstat(file).st_size
    try:
        while data:
            data = data[os.write(file, data) :]
    except OSError:
        # Half a line in the middle of the file could not be read any more.
        os.ftruncate(file, size)
        raise
