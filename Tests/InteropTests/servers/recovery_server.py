#!/usr/bin/env python3
"""A server with connection state recovery, which python-socketio does not have.

It does what the reference server was seen to do: the answer to CONNECT has a `pid`; every plain event ends in an offset,
volatile ones do not; a client that comes back with both gets the missed events before the answer, under the same ids.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import ssl
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import command_line
from lifetime import do_without

do_without("requests", "websocket")

import engineio  # noqa: E402
from aiohttp import web  # noqa: E402

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
        # The Engine.IO session that carries it, if any.
        self.engine: str | None = None


class Server:
    """Sessions by their secret, over Engine.IO."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._by_engine: dict[str, Session] = {}
        self._offsets = Offsets()
        self._count = 0
        # The connections that have carried an Engine.IO session.
        self._connections: defaultdict[str, set[asyncio.BaseTransport | None]] = defaultdict(set)
        # The Engine.IO sessions whose next answer to a poll is lost on its way.
        self._swallowed: set[str] = set()
        # Packets in order: no task of its own for each.
        self.engine = engineio.AsyncServer(async_mode="aiohttp", async_handlers=False, cors_allowed_origins="*")
        self.engine.on("connect", self.connected)
        self.engine.on("message", self.received)
        self.engine.on("disconnect", self.disconnected)

    @web.middleware
    async def note(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Remembers over which connection an Engine.IO session is spoken."""
        sid = request.query.get("sid", "")
        if sid:
            self._connections[sid].add(request.transport)
        response = await handler(request)
        if sid in self._swallowed and request.method == "GET" and request.transport is not None:
            self._swallowed.discard(sid)
            request.transport.abort()
        return response

    async def connected(self, engine: str, environ: dict[str, Any]) -> None:
        """An Engine.IO session begins."""
        self._connections[engine].add(environ["aiohttp.request"].transport)

    async def disconnected(self, engine: str, *_: Any) -> None:
        """An Engine.IO session is over."""
        session = self._by_engine.pop(engine, None)
        if session is not None and session.engine == engine:
            session.engine = None
        self._connections.pop(engine, None)

    async def emit(self, session: Session, *arguments: Any) -> None:
        """Sends an event, now or when the client is back."""
        offset = self._offsets.next()
        event = [*arguments, offset]
        session.sent.append((offset, event))
        await self.write(session, "2" + json.dumps(event))

    async def write(self, session: Session, packet: str) -> None:
        """Sends a packet unless nobody is there."""
        if session.engine is not None:
            await self.engine.send(session.engine, packet)

    async def enter(self, engine: str, auth: dict[str, Any]) -> None:
        """Resumes a session, or begins one."""
        session = self._sessions.get(auth.get("pid", ""))
        offsets = [] if session is None else [offset for offset, _ in session.sent]
        missed: list[list[Any]] = []
        # One that is alive, as far as the server knows, is not resumed.
        if session is not None and session.engine is None and auth.get("offset") in offsets:
            missed = [event for _, event in session.sent[offsets.index(auth["offset"]) + 1 :]]
        else:
            self._count += 1
            session = Session(self._count)
            self._sessions[session.pid] = session
        session.engine = engine
        self._by_engine[engine] = session
        for event in missed:
            await self.write(session, "2" + json.dumps(event))
        await self.write(session, "0" + json.dumps({"sid": session.sid, "pid": session.pid}))

    async def received(self, engine: str, text: str) -> None:
        """Takes a Socket.IO packet."""
        session = self._by_engine.get(engine)
        if text.startswith("0"):
            await self.enter(engine, json.loads(text[1:] or "{}"))
        elif text.startswith("1") and session is not None:
            self._sessions.pop(session.pid, None)
        elif text.startswith("2") and session is not None:
            await self.command(session, json.loads(text[1:]))

    async def command(self, session: Session, event: list[Any]) -> None:
        """`say n`: an event; `mutter text`: a volatile one; `cut n`: ends the connection, then sends n events.

        `swallow n`: n events, whose answer to a poll is lost on its way.
        """
        match event:
            case ["say", number]:
                await self.emit(session, "said", number)
            case ["mutter", text]:
                await self.write(session, "2" + json.dumps(["muttered", text]))
            case ["swallow", first, count] if session.engine is not None:
                self._swallowed.add(session.engine)
                for number in range(first, first + count):
                    await self.emit(session, "said", number)
            case ["cut", first, count]:
                engine, session.engine = session.engine, None
                for connection in self._connections.pop(engine or "", set()):
                    if isinstance(connection, asyncio.WriteTransport):
                        connection.abort()
                for number in range(first, first + count):
                    await self.emit(session, "said", number)


async def run(port: int, tls: ssl.SSLContext | None) -> None:
    """Serves until the process is ended."""
    listener = command_line.listen(port)
    server = Server()
    application = web.Application(middlewares=[server.note])
    server.engine.attach(application, "socket.io")
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.SockSite(runner, listener, ssl_context=tls).start()
    print(f"listening {listener.getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(description="A server with connection state recovery, for tests.")
    arguments = command_line.parse(parser)
    asyncio.run(run(arguments.port, command_line.tls(arguments)))


if __name__ == "__main__":
    main()
