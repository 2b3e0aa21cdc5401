#!/usr/bin/env python3
"""The server that the old programs talk to: a README's, a chat, tokens, namespaces with payload, uploads, notes in a file."""

from __future__ import annotations

import argparse
import asyncio
import os
from typing import Any
from urllib.parse import parse_qs

import command_line
from lifetime import do_without

do_without("requests", "websocket", "redis")

import socketio  # noqa: E402
from aiohttp import web  # noqa: E402

NAMESPACES = ("/", "/admin", "/news", "/private")


class OldPrograms:
    """The events of all namespaces."""

    def __init__(self, server: socketio.AsyncServer, notes: str | None) -> None:
        self._server = server
        self._notes = notes
        self._names: dict[str, str] = {}
        self._auth: dict[str, Any] = {}
        self._environ: dict[str, dict[str, Any]] = {}
        for namespace in NAMESPACES:
            self._serve(namespace)

    def _serve(self, namespace: str) -> None:
        server = self._server

        async def emit(event: str, *args: Any, **to: Any) -> None:
            await server.emit(event, args, namespace=namespace, **to)

        async def connect(sid: str, environ: dict[str, Any], auth: Any = None) -> None:
            self._environ[sid] = environ
            self._auth[sid] = auth
            token = parse_qs(environ.get("QUERY_STRING", "")).get("token", ["none"])[0]
            if namespace == "/private" and token != "fresh":
                raise socketio.exceptions.ConnectionRefusedError("unauthorized", {"code": 401, "token": token})
            await emit("welcome", namespace, to=sid)

        async def disconnect(sid: str, reason: str) -> None:
            self._auth.pop(sid, None)
            if name := self._names.pop(sid, None):
                await emit("user left", {"username": name, "numUsers": len(self._names)})

        async def start(sid: str) -> None:
            async def acknowledged(*args: Any) -> None:
                await emit("acknowledged", *args, to=sid)

            await server.emit("currentAmount", 5, to=sid, namespace=namespace, callback=acknowledged)

        async def can_update(sid: str, amount: float) -> bool:
            return True

        async def update(sid: str, change: dict[str, Any]) -> None:
            await emit("updated", change, to=sid)

        async def add_user(sid: str, name: str) -> None:
            self._names[sid] = name
            await emit("login", {"numUsers": len(self._names)}, to=sid)
            await emit("user joined", {"username": name, "numUsers": len(self._names)}, skip_sid=sid)

        async def new_message(sid: str, text: str) -> None:
            await emit("new message", {"username": self._names[sid], "message": text}, skip_sid=sid)

        async def typing(sid: str) -> None:
            await emit("typing", {"username": self._names[sid]}, skip_sid=sid)

        async def upload(sid: str, name: str, index: int, chunk: bytes) -> dict[str, Any]:
            return {"name": name, "index": index, "bytes": len(chunk), "chunk": chunk}

        async def note(sid: str, number: int) -> int:
            if self._notes:
                with open(self._notes, "a", encoding="ascii") as notes:
                    notes.write(f"{number}\n")
            return number

        async def echo(sid: str, *args: Any) -> tuple[Any, ...]:
            await emit("echo", *args, to=sid)
            return args

        async def ask(sid: str, *args: Any) -> None:
            async def answered(*answer: Any) -> None:
                await emit("answered", *answer, to=sid)

            await server.emit("question", args, to=sid, namespace=namespace, callback=answered)

        async def silence(sid: str, *args: Any) -> Any:
            return server.not_handled

        async def whoami(sid: str) -> Any:
            return self._auth[sid]

        async def request(sid: str) -> dict[str, Any]:
            environ = self._environ[sid]
            fields = {
                "query": "QUERY_STRING", "cookie": "HTTP_COOKIE", "header": "HTTP_X_OLD", "origin": "HTTP_ORIGIN",
                "path": "PATH_INFO",
            }
            found = {name: environ.get(key, "") for name, key in fields.items()}
            return found | {"engine": server.manager.eio_sid_from_sid(sid, namespace), "sid": sid}

        async def carrier(sid: str) -> str:
            return str(server.transport(sid, namespace=namespace))

        async def kick(sid: str) -> Any:
            await server.disconnect(sid, namespace=namespace)
            return server.not_handled

        handlers = {
            "connect": connect, "disconnect": disconnect, "start": start, "canUpdate": can_update, "update": update,
            "add user": add_user, "new message": new_message, "typing": typing, "upload": upload, "note": note,
            "echo": echo, "ask": ask, "silence": silence, "whoami": whoami, "request": request, "carrier": carrier,
            "kick": kick,
        }
        for event, handler in handlers.items():
            server.on(event, handler, namespace=namespace)


async def serve(arguments: argparse.Namespace) -> None:
    """Serves until the process is ended."""
    listener = command_line.listen(arguments.port)
    server = socketio.AsyncServer(
        async_mode="aiohttp", async_handlers=False, cors_allowed_origins="*", max_http_buffer_size=16 << 20,
        ping_interval=arguments.ping_interval, ping_timeout=20)
    OldPrograms(server, arguments.notes)
    application = web.Application(client_max_size=16 << 20)
    server.attach(application, socketio_path=arguments.path)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.SockSite(runner, listener, ssl_context=command_line.tls(arguments)).start()
    print(f"listening {listener.getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(description="The server of the old programs.")
    parser.add_argument("--path", default="socket.io")
    parser.add_argument("--ping-interval", type=int, default=25, metavar="SECONDS")
    parser.add_argument("--notes", metavar="FILE", help="where the numbers of the event note go")
    asyncio.run(serve(command_line.parse(parser)))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
