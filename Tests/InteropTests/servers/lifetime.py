"""How long the servers of these tests take to start, and how long they live."""

from __future__ import annotations

import os
import sys
import threading


def do_without(*modules: str) -> None:
    """Has modules that others import if they are there not be there: clients' for servers, for instance."""
    for name in modules:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def end_with_input() -> None:
    """Ends the process when its standard input does, which is when its parent process has ended."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
