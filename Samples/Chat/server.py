#!/usr/bin/env python3
"""A server for the chat of PROTOCOL.md, which people reach over Socket.IO or over a raw WebSocket.

`chat_hub.py` is the chat itself and knows of no network. `socketio_front.py` and `websocket_front.py` bring people to
it. What it needs to be the same for everybody is behind it: in this process alone (`local_backplane.py`), or in Redis
for several servers of one chat (`redis_backplane.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import socketio
from aiohttp import web
from websockets.asyncio.server import serve

# A cache of bytecode has no place among the sources of the chat.
sys.dont_write_bytecode = True
from chat_history import History  # noqa: E402
from chat_hub import Backplane, Hub  # noqa: E402
from local_backplane import LocalBackplane  # noqa: E402
from redis_backplane import RedisBackplane, channel  # noqa: E402
from socketio_front import Hints, SocketIOFront  # noqa: E402
from websocket_front import WebSocketFront  # noqa: E402

GRACE_SECONDS = 3.0


@contextlib.asynccontextmanager
async def serve_socketio(
    hub: Hub, listener: socket.socket, options: argparse.Namespace, manager: socketio.AsyncRedisManager | None
) -> AsyncIterator[str]:
    """Serves Socket.IO while the context lasts, and yields its URL."""
    front = SocketIOFront(hub, options.ping_interval, options.ping_timeout, options.allow_origin, manager)
    application = web.Application()
    front.server.attach(application)
    # Open WebSockets never finish by themselves, so that a longer timeout would only delay the end.
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        tls = _tls(options)
        await web.SockSite(runner, listener, ssl_context=tls).start()
        yield _url("https" if tls else "http", listener)
    finally:
        await front.server.shutdown()
        await runner.cleanup()


@contextlib.asynccontextmanager
async def serve_websocket(hub: Hub, listener: socket.socket, options: argparse.Namespace) -> AsyncIterator[str]:
    """Serves raw WebSockets while the context lasts, and yields their URL."""
    tls = _tls(options)
    async with serve(
        WebSocketFront(hub).handle,
        # None stands for requests without an origin: those of apps.
        origins=[None, *options.allow_origin],
        sock=listener,
        ssl=tls,
        ping_interval=options.ping_interval,
        ping_timeout=options.ping_timeout,
        close_timeout=1,
    ):
        yield _url("wss" if tls else "ws", listener)


def _listen(host: str, port: int) -> socket.socket:
    # create_server() sets SO_REUSEADDR: a restart gets its port back while old connections are in TIME_WAIT.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=128)
    # Connections inherit it. Small frames would wait for each other, and asyncio forgets it for a socket made like this.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    if options.ssl_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.ssl_cert, options.ssl_key)
    return context


def _url(scheme: str, listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


async def run(options: argparse.Namespace) -> None:
    """Serves until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    listener = _listen(options.host, options.port)
    manager = None
    if options.redis is not None:
        manager = socketio.AsyncRedisManager(options.redis, channel=f"{channel(options.redis)}:hints")
    async with contextlib.AsyncExitStack() as stack:
        backplane: Backplane
        if manager is None:
            backplane = LocalBackplane(History(_history_path(options.history, listener)))
        else:
            backplane = await stack.enter_async_context(RedisBackplane.open(options.redis, Hints(manager).send))
        hub = Hub(backplane, refuse=options.refuse)
        url = await stack.enter_async_context(serve_socketio(hub, listener, options, manager))
        lines = [f"listening socketio {url}"]
        if options.websocket_port is not None:
            second = _listen(options.host, options.websocket_port)
            url = await stack.enter_async_context(serve_websocket(hub, second, options))
            lines.append(f"listening websocket {url}")
        print("\n".join(lines), flush=True)
        await stop.wait()
        if manager is not None:
            # Who waits for a Redis that is away would keep the process; in Redis its lease ends by itself.
            asyncio.get_running_loop().call_later(GRACE_SECONDS, os._exit, 1)


def _history_path(choice: str | None, listener: socket.socket) -> Path | None:
    if choice is None:
        return Path(tempfile.gettempdir(), f"linkspan-chat-{listener.getsockname()[1]}.jsonl")
    return None if choice == "none" else Path(choice)


def parse_options() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="A chat server over Socket.IO and raw WebSocket.")
    parser.add_argument("--port", type=port, required=True, help="port for Socket.IO; 0 picks a free one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--websocket-port", type=port, help="port for raw WebSockets; 0 picks a free one")
    parser.add_argument("--ssl-cert", metavar="FILE", help="certificate chain (PEM); turns TLS on")
    parser.add_argument("--ssl-key", metavar="FILE", help="private key (PEM)")
    parser.add_argument("--ping-interval", type=whole_seconds, default=25, metavar="SECONDS", help="whole seconds")
    parser.add_argument("--ping-timeout", type=seconds, default=20.0, metavar="SECONDS")
    parser.add_argument(
        "--history",
        metavar="FILE",
        help="where lines are kept; 'none' for memory only (default linkspan-chat-PORT.jsonl in the temporary folder)",
    )
    parser.add_argument(
        "--redis",
        metavar="URL",
        help="what the servers of one chat have in common, in place of --history; for instance redis://127.0.0.1:6379/0",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a web page's origin, such as https://app.example, that may chat; by default no page may",
    )
    parser.add_argument("--refuse", action="store_true", help="refuse everyone, to test how clients take it")
    options = parser.parse_args()
    if (options.ssl_cert is None) != (options.ssl_key is None):
        parser.error("--ssl-cert and --ssl-key go together")
    if options.redis is not None and options.history is not None:
        parser.error("with --redis the lines are kept there; --history is for a server without it")
    return options


def port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65_535:
        raise argparse.ArgumentTypeError("must be from 0 to 65535")
    return value


def whole_seconds(text: str) -> int:
    # python-engineio announces whole seconds only: a client told 0 would give up on a server that pings each 0.5.
    return int(seconds(str(int(text))))


def seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 86_400:
        raise argparse.ArgumentTypeError("must be more than 0 and less than a day")
    return value


if __name__ == "__main__":
    try:
        asyncio.run(run(parse_options()))
    except OSError as error:
        sys.exit(f"server.py: {error}")
