#!/usr/bin/env python3
"""One address for several servers: passes TCP connections on to those that live, one after the other in turn.

    front.py --route 3000=3100,3101,3102 --route 3001=3200,3201,3202

Each route has a port of its own, of which 0 picks a free one, and the ports of its servers. A server that refuses a
connection is passed over. Requests of one Engine.IO session go to one server: who asks with a `sid` in the query of its
first request gets the server that gave it out, which long-polling and the upgrade from it need.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

CHUNK = 65_536
# The first request line has to fit in here, and what a server answers to a handshake, too.
HEAD_LIMIT = 8_192
HEAD_TIMEOUT = 10.0
CONNECT_TIMEOUT = 2.0
SESSION_LIMIT = 10_000

ASKED_SESSION = re.compile(rb"[?&]sid=([\w-]+)")
GIVEN_SESSION = re.compile(rb'"sid":"([\w-]+)"')

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Look = Callable[[bytes], None]


@dataclass
class Route:
    """A port, the servers behind it, and which of them has which session."""

    host: str
    port: int
    servers: list[int]
    _next: int = 0
    _sessions: OrderedDict[bytes, int] = field(default_factory=OrderedDict)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carries one connection until either side ends it."""
        client, upstream = (reader, writer), None
        try:
            async with asyncio.timeout(HEAD_TIMEOUT):
                head = await _first_line(reader)
            asked = ASKED_SESSION.search(head)
            server, upstream = await self._connect(asked and asked[1])
            upstream[1].write(head)
            is_handshake = b"/socket.io/" in head and asked is None
            await _carry(client, upstream, self._noting(server) if is_handshake else None)
        except (OSError, TimeoutError):
            pass
        finally:
            for end in (client, upstream):
                if end is not None:
                    end[1].close()

    async def _connect(self, session: bytes | None) -> tuple[int, Stream]:
        """A connection to the server of a session, or else to the next one that accepts it."""
        self._next += 1
        turn = self._next % len(self.servers)
        candidates = self.servers[turn:] + self.servers[:turn]
        if session in self._sessions:
            candidates.insert(0, self._sessions[session])
        for server in candidates:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    return server, await asyncio.open_connection(self.host, server)
        raise ConnectionRefusedError("no server lives")

    def _noting(self, server: int) -> Look:
        """Looks at what a server answers first, for the session it opens."""
        head = b""

        def look(data: bytes) -> None:
            nonlocal head
            if len(head) >= HEAD_LIMIT:
                return
            head += data
            if (given := GIVEN_SESSION.search(head)) is not None:
                self._sessions[given[1]] = server
                if len(self._sessions) > SESSION_LIMIT:
                    self._sessions.popitem(last=False)
                head = bytes(HEAD_LIMIT)

        return look


async def _first_line(reader: asyncio.StreamReader) -> bytes:
    """The beginning of a connection, up to the end of the first line at least."""
    head = b""
    while b"\n" not in head and len(head) < HEAD_LIMIT:
        data = await reader.read(CHUNK)
        if not data:
            raise ConnectionResetError("ended before its first line")
        head += data
    return head


async def _carry(client: Stream, server: Stream, look: Look | None) -> None:
    """Carries both ways, until one side has ended."""
    ways = [
        asyncio.create_task(_copy(client[0], server[1], None)),
        asyncio.create_task(_copy(server[0], client[1], look)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, look: Look | None) -> None:
    while data := await reader.read(CHUNK):
        if look is not None:
            look(data)
        writer.write(data)
        await writer.drain()


async def run(routes: list[Route]) -> None:
    """Serves until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with contextlib.AsyncExitStack() as stack:
        for route in routes:
            server = await asyncio.start_server(route.serve, route.host, route.port, backlog=128)
            stack.callback(server.close)
            print(f"listening {route.host}:{server.sockets[0].getsockname()[1]}", flush=True)
        await stop.wait()


def route(text: str) -> tuple[int, list[int]]:
    """Reads `PORT=PORT,PORT`."""
    port, _, servers = text.partition("=")
    try:
        return _port(port), [_port(server) for server in servers.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError("must be like 3000=3100,3101") from None


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65_535:
        raise ValueError("no port")
    return value


def main() -> None:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(description="Spreads TCP connections over the servers that live.")
    parser.add_argument("--host", default="127.0.0.1", help="address of the front and the servers (default %(default)s)")
    parser.add_argument("--route", type=route, action="append", required=True, metavar="PORT=PORT,PORT")
    options = parser.parse_args()
    try:
        asyncio.run(run([Route(options.host, port, servers) for port, servers in options.route]))
    except OSError as error:
        sys.exit(f"front.py: {error}")


if __name__ == "__main__":
    main()
