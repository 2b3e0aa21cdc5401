#!/usr/bin/env python3
"""A server with connection state recovery, which python-socketio does not have, over WebSockets alone.

It does what the reference server was seen to do: the answer to CONNECT has a `pid`; every plain event ends in an offset,
volatile ones do not; whoever comes back with both gets what was missed before the answer, under the same ids.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import socket
import time
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

from lifetime import end_with_input

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"


class Offsets:
    """Offsets as the reference's adapter makes them: the time in base 64, never twice the same."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> str:
        self._last = max(self._last + 1, int(time.time() * 1000))
        number, text = self._last, ""
        while number:
            number, digit = divmod(number, 64)
            text = DIGITS[digit] + text
        return text


class Session:
    """What outlives the loss of a connection."""

    def __init__(self, number: int) -> None:
        self.sid = f"sid{number}"
        self.pid = secrets.token_urlsafe(12)
        self.sent: list[tuple[str, list[Any]]] = []
        self.connection: ServerConnection | None = None


class Server:
    """Sessions by their secret."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._offsets = Offsets()
        self._count = 0

    async def emit(self, session: Session, *arguments: Any) -> None:
        """Sends an event, now or when the client is back."""
        offset = self._offsets.next()
        event = [*arguments, offset]
        session.sent.append((offset, event))
        await self.write(session, "42" + json.dumps(event))

    async def write(self, session: Session, packet: str) -> None:
        """Sends a packet unless nobody is there."""
        if session.connection is not None:
            await session.connection.send(packet)

    async def enter(self, connection: ServerConnection, auth: dict[str, Any]) -> Session:
        """Resumes a session, or begins one."""
        session = self._sessions.get(auth.get("pid", ""))
        offsets = [] if session is None else [offset for offset, _ in session.sent]
        if session is not None and auth.get("offset") in offsets:
            session.connection = connection
            for _, event in session.sent[offsets.index(auth["offset"]) + 1 :]:
                await connection.send("42" + json.dumps(event))
        else:
            self._count += 1
            session = Session(self._count)
            session.connection = connection
            self._sessions[session.pid] = session
        await connection.send("40" + json.dumps({"sid": session.sid, "pid": session.pid}))
        return session

    async def handle(self, connection: ServerConnection) -> None:
        """Speaks with one client until it is gone."""
        handshake = {"sid": "engine", "upgrades": [], "pingInterval": 25000, "pingTimeout": 20000, "maxPayload": 1000000}
        await connection.send("0" + json.dumps(handshake))
        session: Session | None = None
        async for packet in connection:
            text = str(packet)
            if text.startswith("40"):
                session = await self.enter(connection, json.loads(text[2:] or "{}"))
            elif text.startswith("41") and session is not None:
                self._sessions.pop(session.pid, None)
            elif text.startswith("42") and session is not None:
                await self.command(session, json.loads(text[2:]))
        if session is not None and session.connection is connection:
            session.connection = None

    async def command(self, session: Session, event: list[Any]) -> None:
        """`say n`: an event; `mutter text`: a volatile one; `cut n`: ends the connection, then sends n events."""
        match event:
            case ["say", number]:
                await self.emit(session, "said", number)
            case ["mutter", text]:
                await self.write(session, "42" + json.dumps(["muttered", text]))
            case ["cut", first, count]:
                if session.connection is not None:
                    session.connection.transport.abort()
                    session.connection = None
                for number in range(first, first + count):
                    await self.emit(session, "said", number)


async def run(port: int) -> None:
    """Serves until the process is ended."""
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    server = Server()
    async with serve(server.handle, sock=listener, ping_interval=None):
        print(f"listening {listener.getsockname()[1]}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(description="A server with connection state recovery, for tests.")
    parser.add_argument("--port", type=int, default=0, help="0, the default, picks a free one")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    arguments = parser.parse_args()
    if arguments.until_eof:
        end_with_input()
    asyncio.run(run(arguments.port))


if __name__ == "__main__":
    main()
