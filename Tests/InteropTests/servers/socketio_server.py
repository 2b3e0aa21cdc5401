#!/usr/bin/env python3
"""A Socket.IO server that does what the interoperability tests ask of it. README.md lists its events.

The handlers are written once, as coroutines over `Peer`. On the threaded kind nothing they await ever waits, so
that `finish` can run them to their end on the thread that received the event.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, ClassVar

import command_line
from lifetime import do_without

# Tests start many servers: each imports what it serves with and nothing else.
do_without("requests", "websocket")
if {"uvicorn", "threaded", "gevent", "eventlet"}.intersection(sys.argv):
    do_without("aiohttp")
if "--redis" not in sys.argv:
    do_without("redis")

import socketio  # noqa: E402

NAMESPACES = ("/", "/admin", "/chat", "/auth")
BUFFER_SIZE = 16 * 1024 * 1024

Handler = Callable[..., Coroutine[Any, Any, Any]]


async def settle(result: Any) -> Any:
    """The outcome of a call to either kind of server: the asyncio one returns awaitables."""
    return await result if isinstance(result, Awaitable) else result


def finish(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("a handler waited on the threaded server")


class Peer:
    """The events of one namespace, over an asyncio or a threaded server."""

    def __init__(self, server: Any, namespace: str, sessions: set[str]) -> None:
        """`sessions` gets the Engine.IO sessions that there have ever been."""
        self._server = server
        self._namespace = namespace
        self._sessions = sessions
        self._notes: list[Any] = []
        self._auth: dict[str, Any] = {}
        handlers: dict[str, Handler] = {
            "connect": self.connect,
            "disconnect": self.disconnect,
            "echo": self.echo,
            "req": self.req,
            "ask": self.ask,
            "binary3": self.binary3,
            "kick": self.kick,
            "kill_engine": self.kill_engine,
            "flood": self.flood,
            "raw": self.raw,
            "whoami": self.whoami,
            "engines": self.engines,
            "note": self.note,
            "notes": self.notes,
            "carrier": self.carrier,
            "everyone": self.everyone,
        }
        for event, handler in handlers.items():
            server.on(event, self._adapted(handler), namespace=namespace)

    def _adapted(self, handler: Handler) -> Callable[..., Any]:
        if self._server.is_asyncio_based():
            return handler
        return lambda *args: finish(handler(*args))

    async def _emit(self, sid: str, event: str, *args: Any, callback: Handler | None = None) -> None:
        adapted = None if callback is None else self._adapted(callback)
        await settle(self._server.emit(event, args, to=sid, namespace=self._namespace, callback=adapted))

    def _engine(self, sid: str) -> str:
        return str(self._server.manager.eio_sid_from_sid(sid, self._namespace))

    async def connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> None:
        self._sessions.add(self._engine(sid))
        credentials = auth if isinstance(auth, dict) else {}
        if credentials.get("early") is True:
            for number in (1, 2, 3):
                await self._emit(sid, "early", number)
        if self._namespace == "/auth" and credentials.get("token") in (None, "bad"):
            reason = "bad token" if "token" in credentials else "no token"
            raise socketio.exceptions.ConnectionRefusedError("unauthorized", {"code": 401, "reason": reason})
        self._auth[sid] = auth

    async def disconnect(self, sid: str, reason: str) -> None:
        self._auth.pop(sid, None)

    async def echo(self, sid: str, *args: Any) -> None:
        await self._emit(sid, "echo", *args)

    async def req(self, sid: str, *args: Any) -> tuple[Any, ...]:
        return args

    async def ask(self, sid: str, *args: Any) -> None:
        async def answered(*answer: Any) -> None:
            await self._emit(sid, "answered", *answer)

        await self._emit(sid, "question", *args, callback=answered)

    async def binary3(self, sid: str, *args: Any) -> Any:
        if len(args) != 3 or not all(isinstance(arg, bytes) for arg in args):
            return {"error": "three binary arguments are due"}
        await self._emit(sid, "binary3", *reversed(args))
        return tuple(reversed(args))

    async def kick(self, sid: str) -> Any:
        await settle(self._server.disconnect(sid, namespace=self._namespace))
        return self._server.not_handled  # no ack on a namespace that was left

    async def kill_engine(self, sid: str) -> Any:
        # In the background: closing waits until all is written, which a polling client fetches after this handler.
        self._server.start_background_task(self._server.eio.disconnect, self._engine(sid))
        return self._server.not_handled

    async def flood(self, sid: str, options: dict[str, Any]) -> int:
        count = int(options["n"])
        pad = "x" * int(options.get("bytes", 0))
        for number in range(count):
            await self._emit(sid, "item", {"id": number, "pad": pad})
        return count

    async def raw(self, sid: str, *frames: str | bytes) -> None:
        for frame in frames:
            await settle(self._server.eio.send(self._engine(sid), frame))

    async def whoami(self, sid: str) -> Any:
        await self._emit(sid, "whoami", self._auth.get(sid))
        return self._auth.get(sid)

    async def everyone(self, sid: str, *args: Any) -> None:
        """Tells all of the namespace, on every server of the cluster."""
        await settle(self._server.emit("everyone", args, namespace=self._namespace))

    async def note(self, sid: str, *args: Any) -> None:
        self._notes.extend(args)

    async def notes(self, sid: str) -> list[Any]:
        """What clients have noted, in order."""
        return self._notes

    async def carrier(self, sid: str) -> str:
        """What carries the session at the moment."""
        return str(self._server.transport(sid, namespace=self._namespace))

    async def engines(self, sid: str) -> dict[str, int]:
        sockets = list(self._server.eio.sockets.values())
        return {"open": sum(not socket.closed for socket in sockets), "ever": len(self._sessions)}


def make_socketio(kind: type[Any], **options: Any) -> Any:
    """A server of the class `kind` with all namespaces."""
    # Handlers in order, so that what tests see of them is determined.
    server = kind(async_handlers=False, cors_allowed_origins="*", max_http_buffer_size=BUFFER_SIZE, **options)
    sessions: set[str] = set()
    for namespace in NAMESPACES:
        Peer(server, namespace, sessions)
    return server


class NextTickServer(socketio.AsyncServer):
    """Handles an event after all that came in the same read, and not when its client has left by then.

    The official server does so. Here the next frame of a read takes three turns of the loop.
    """

    # The loop itself holds tasks weakly.
    _tasks: ClassVar[set[Any]] = set()

    async def _handle_event_internal(
        self, server: Any, sid: str, eio_sid: str, data: list[Any], namespace: str, id: int | None
    ) -> None:
        async def handle() -> None:
            for _ in range(4):
                await asyncio.sleep(0)
            if self.manager.is_connected(sid, namespace):
                await super(NextTickServer, self)._handle_event_internal(server, sid, eio_sid, data, namespace, id)

        task = self.start_background_task(handle)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def read_seldom(self) -> None:
        """Blocks the loop most of the time, so that what a client sends within a moment comes in one read."""
        while True:
            await asyncio.sleep(0.005)
            time.sleep(0.015)


async def serve_aiohttp(
    listener: socket.socket, tls: ssl.SSLContext | None, options: dict[str, Any], next_tick: bool = False
) -> None:
    """Serves on aiohttp until SIGINT or SIGTERM."""
    from aiohttp import web

    kind = NextTickServer if next_tick else socketio.AsyncServer
    server = make_socketio(kind, async_mode="aiohttp", **options)
    application = web.Application(client_max_size=BUFFER_SIZE)
    server.attach(application)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.SockSite(runner, listener, ssl_context=tls).start()
    busy = asyncio.create_task(server.read_seldom()) if next_tick else None
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    announce(listener)
    await stop.wait()
    if busy is not None:
        busy.cancel()
    await server.shutdown()
    await runner.cleanup()


def serve_gevent(listener: socket.socket, tls: ssl.SSLContext | None, options: dict[str, Any]) -> None:
    """Serves on gevent, a greenlet for each connection, until the process is ended."""
    from gevent import pywsgi, signal_handler, socket as green
    from geventwebsocket.handler import WebSocketHandler

    server = make_socketio(socketio.Server, async_mode="gevent", **options)
    greened = green.socket(fileno=listener.detach())
    secure = {} if tls is None else {"ssl_context": tls}
    site = pywsgi.WSGIServer(greened, socketio.WSGIApp(server), handler_class=WebSocketHandler, log=None, **secure)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal_handler(number, os._exit, 0)
    announce(greened)
    site.serve_forever()


def serve_eventlet(listener: socket.socket, options: dict[str, Any]) -> None:
    """Serves on eventlet, a green thread for each connection, until the process is ended."""
    import eventlet
    from eventlet import wsgi
    from eventlet.green import socket as green

    server = make_socketio(socketio.Server, async_mode="eventlet", **options)
    greened = green.socket(fileno=listener.detach())
    for number in (signal.SIGINT, signal.SIGTERM):
        eventlet.hubs.get_hub()
        signal.signal(number, lambda *_: os._exit(0))
    announce(greened)
    wsgi.server(greened, socketio.WSGIApp(server), log_output=False)


class PostLimit:
    """Refuses larger POSTs before they reach the server, as proxies do."""

    def __init__(self, app: Any, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        length = int(dict(scope.get("headers", ())).get(b"content-length", 0))
        if scope["type"] != "http" or length <= self._most:
            return await self._app(scope, receive, send)
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})


async def serve_uvicorn(
    listener: socket.socket, tls: ssl.SSLContext | None, options: dict[str, Any], post_limit: int = BUFFER_SIZE
) -> None:
    """Serves on uvicorn until SIGINT or SIGTERM."""
    import uvicorn

    class QuietUvicorn(uvicorn.Server):
        """A uvicorn that tells when it is ready, and ends with status 0 on a signal."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            for listener in sockets or ():
                announce(listener)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self.handle_exit)
            yield

    server = make_socketio(socketio.AsyncServer, async_mode="asgi", **options)
    config = uvicorn.Config(
        PostLimit(socketio.ASGIApp(server), post_limit),
        log_level="critical",
        ws="websockets-sansio",
        ws_max_size=BUFFER_SIZE,
        ws_ping_interval=None,  # Engine.IO has pings of its own
        timeout_graceful_shutdown=1,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )
    await QuietUvicorn(config).serve(sockets=[listener])


def serve_threaded(listener: socket.socket, tls: ssl.SSLContext | None, options: dict[str, Any]) -> None:
    """Serves on werkzeug, a thread for each connection, until SIGINT or SIGTERM."""
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = make_socketio(socketio.Server, async_mode="threading", **options)
    host, port = listener.getsockname()
    site = make_server(host, port, socketio.WSGIApp(server), threaded=True, fd=listener.fileno(), ssl_context=tls)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: threading.Thread(target=site.shutdown).start())
    announce(listener)
    site.serve_forever(poll_interval=0.1)
    os._exit(0)  # threads of open connections would keep the process


def announce(listener: socket.socket) -> None:
    """Tells the parent process that the server is ready, and its address."""
    print(f"listening {listener.getsockname()[1]}", flush=True)


def main() -> None:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(description="A Socket.IO server for interoperability tests.")
    parser.add_argument("--kind", choices=("aiohttp", "uvicorn", "threaded", "gevent", "eventlet"), default="aiohttp")
    parser.add_argument("--ping-interval", type=int, default=25, metavar="SECONDS", help="whole seconds")
    parser.add_argument("--ping-timeout", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("--serializer", choices=("msgpack",), help="the form of packets, in place of JSON")
    parser.add_argument("--polling-only", action="store_true", help="refuse WebSockets")
    parser.add_argument("--next-tick", action="store_true", help="(aiohttp) be busy, and handle events a turn later")
    parser.add_argument("--post-limit", type=int, default=BUFFER_SIZE, metavar="BYTES", help="(uvicorn) 413 above")
    parser.add_argument("--redis", metavar="URL", help="what this server shares with others of its cluster")
    arguments = command_line.parse(parser)
    tls = command_line.tls(arguments)
    listener = command_line.listen(arguments.port)
    options = {"ping_interval": arguments.ping_interval, "ping_timeout": arguments.ping_timeout}
    if arguments.serializer is not None:
        options["serializer"] = arguments.serializer
    if arguments.polling_only:
        options["transports"] = ["polling"]
    if arguments.redis is not None:
        manager = socketio.AsyncRedisManager if arguments.kind in ("aiohttp", "uvicorn") else socketio.RedisManager
        options["client_manager"] = manager(arguments.redis)
    match arguments.kind:
        case "aiohttp":
            asyncio.run(serve_aiohttp(listener, tls, options, arguments.next_tick))
        case "uvicorn":
            asyncio.run(serve_uvicorn(listener, tls, options, arguments.post_limit))
        case "threaded":
            serve_threaded(listener, tls, options)
        case "gevent":
            serve_gevent(listener, tls, options)
        case "eventlet":
            serve_eventlet(listener, options)


if __name__ == "__main__":
    main()
