"""How long the servers of these tests live."""

from __future__ import annotations

import os
import sys
import threading


def end_with_input() -> None:
    """Ends the process when its standard input does, which is when whoever started it is gone."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
