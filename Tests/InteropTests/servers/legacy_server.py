#!/usr/bin/env python3
"""A server of Socket.IO 2.x (python-socketio 4 on Engine.IO v3), for tests of the old protocol."""

from __future__ import annotations

import argparse
import asyncio
import socket
from typing import Any

import command_line
from lifetime import do_without

do_without("requests", "websocket", "redis")

import socketio  # noqa: E402
from aiohttp import web  # noqa: E402

NAMESPACES = ("/", "/chat", "/auth")

# This old release gives coroutines to asyncio.wait, which Python takes only as tasks since 3.11.
wait = asyncio.wait
asyncio.wait = lambda them, **options: wait([asyncio.ensure_future(each) for each in them], **options)


def register(server: socketio.AsyncServer, namespace: str) -> None:
    """The events of one namespace: the same words as those of socketio_server.py."""

    async def connect(sid: str, environ: dict[str, Any]) -> None:
        if namespace == "/auth" and environ.get("HTTP_X_TOKEN") != "good":
            raise socketio.exceptions.ConnectionRefusedError("unauthorized", {"code": 401})
        await server.emit("hello", namespace, to=sid, namespace=namespace)

    async def echo(sid: str, *args: Any) -> None:
        await server.emit("echo", args, to=sid, namespace=namespace)

    async def req(sid: str, *args: Any) -> tuple[Any, ...]:
        return args

    async def ask(sid: str, *args: Any) -> None:
        async def answered(*answer: Any) -> None:
            await server.emit("answered", answer, to=sid, namespace=namespace)

        await server.emit("question", args, to=sid, namespace=namespace, callback=answered)

    async def flood(sid: str, count: int) -> int:
        for number in range(count):
            await server.emit("item", number, to=sid, namespace=namespace)
        return count

    async def kick(sid: str) -> None:
        await server.disconnect(sid, namespace=namespace)

    for handler in (connect, echo, req, ask, flood, kick):
        server.on(handler.__name__, handler, namespace=namespace)


async def serve(listener: socket.socket, options: argparse.Namespace) -> None:
    """Serves until the process is ended."""
    server = socketio.AsyncServer(
        async_mode="aiohttp", async_handlers=False, cors_allowed_origins="*", max_http_buffer_size=1 << 24,
        ping_interval=options.ping_interval, ping_timeout=options.ping_timeout)
    for namespace in NAMESPACES:
        register(server, namespace)
    application = web.Application(client_max_size=1 << 24)
    server.attach(application)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.SockSite(runner, listener, ssl_context=command_line.tls(options)).start()
    print(f"listening {listener.getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(description="A Socket.IO 2.x server for interoperability tests.")
    parser.add_argument("--ping-interval", type=int, default=25, metavar="SECONDS", help="whole seconds")
    parser.add_argument("--ping-timeout", type=float, default=5.0, metavar="SECONDS")
    options = command_line.parse(parser)
    listener = command_line.listen(options.port)
    asyncio.run(serve(listener, options))


if __name__ == "__main__":
    main()
