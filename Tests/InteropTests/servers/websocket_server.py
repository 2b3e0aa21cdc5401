#!/usr/bin/env python3
"""A WebSocket server for the interoperability tests: `/echo` returns frames, `/envelope` speaks the JSON envelope."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http
import json
import signal
from collections.abc import Sequence
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

import command_line

SUBPROTOCOLS = (Subprotocol("linkspan.json"), Subprotocol("other"))
FRAME_SIZE = 16 * 1024 * 1024
ATTACHMENT_LIMIT = 100

# How many HTTP requests have come, whatever became of them.
REQUESTS = {"seen": 0}

# What clients have left with the event note.
NOTES: list[Any] = []

# The codes and reasons with which clients have closed.
CLOSINGS: list[tuple[int, str]] = []
CLOSED = asyncio.Condition()

Payload = dict[str, Any]


class BrokenEnvelope(Exception):
    """A frame that is not the envelope; the connection ends with `code`."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Envelopes:
    """Reads and writes envelopes, binary arguments included, on one connection."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection

    async def receive(self) -> Payload:
        """The next envelope, with its attachments in their places."""
        frame = await self._connection.recv()
        if not isinstance(frame, str):
            raise BrokenEnvelope(1008, "a binary frame that no envelope announced")
        try:
            envelope = json.loads(frame)
        except (ValueError, RecursionError):
            raise BrokenEnvelope(1007, "not JSON") from None
        if not isinstance(envelope, dict) or not isinstance(envelope.get("data", []), list):
            raise BrokenEnvelope(1008, "the envelope must be an object, its data a list")
        attachments = await self._attachments(envelope.pop("attachments", 0))
        envelope["data"] = [_filled(item, attachments) for item in envelope.get("data", [])]
        return envelope

    async def _attachments(self, count: object) -> list[bytes]:
        if not isinstance(count, int) or not 0 <= count <= ATTACHMENT_LIMIT:
            raise BrokenEnvelope(1008, f"attachments must be a whole number up to {ATTACHMENT_LIMIT}")
        attachments = [await self._connection.recv() for _ in range(count)]
        if not all(isinstance(attachment, bytes) for attachment in attachments):
            raise BrokenEnvelope(1008, "a text frame where an attachment was due")
        return attachments  # type: ignore[return-value]

    async def send(self, envelope: Payload) -> None:
        """Sends an envelope, and its attachments right behind."""
        attachments: list[bytes] = []
        envelope = {**envelope, "data": [_emptied(item, attachments) for item in envelope["data"]]}
        if attachments:
            envelope["attachments"] = len(attachments)
        await self._connection.send(json.dumps(envelope, ensure_ascii=False, separators=(",", ":")))
        for attachment in attachments:
            await self._connection.send(attachment)


def _filled(value: Any, attachments: Sequence[bytes]) -> Any:
    """The value with binary in place of its placeholders."""
    if isinstance(value, list):
        return [_filled(item, attachments) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("_placeholder") is not True:
        return {key: _filled(item, attachments) for key, item in value.items()}
    number = value.get("num")
    if not isinstance(number, int) or not 0 <= number < len(attachments):
        raise BrokenEnvelope(1008, "a placeholder without its attachment")
    return attachments[number]


def _emptied(value: Any, attachments: list[bytes]) -> Any:
    """The value with placeholders in place of its binary, which goes to `attachments`."""
    if isinstance(value, bytes):
        attachments.append(value)
        return {"_placeholder": True, "num": len(attachments) - 1}
    if isinstance(value, list):
        return [_emptied(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _emptied(item, attachments) for key, item in value.items()}
    return value


class EnvelopeSession:
    """One client of `/envelope`."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._envelopes = Envelopes(connection)
        self._auth: Any = None
        self._questions = 0

    async def run(self) -> None:
        """Answers the client until the connection ends."""
        try:
            if self._wants_early_events():
                for number in (1, 2, 3):
                    await self._envelopes.send({"event": "early", "data": [number]})
            while True:
                await self._take(await self._envelopes.receive())
        except BrokenEnvelope as error:
            await self._connection.close(error.code, str(error))

    def _wants_early_events(self) -> bool:
        request = self._connection.request
        return request is not None and request.path.partition("?")[2] == "early"

    def _compression(self) -> Payload | None:
        """What was agreed on, or `None` if nothing was."""
        for extension in self._connection.protocol.extensions:
            if isinstance(extension, PerMessageDeflate):
                return {
                    "clientForgets": extension.remote_no_context_takeover,
                    "serverForgets": extension.local_no_context_takeover,
                    "clientBits": extension.remote_max_window_bits,
                    "serverBits": extension.local_max_window_bits,
                }
        return None

    async def _flood(self, options: Payload) -> int:
        pad = "x" * int(options.get("bytes", 0))
        for number in range(options["n"]):
            await self._envelopes.send({"event": "item", "data": [{"id": number, "pad": pad}]})
        return int(options["n"])

    async def _take(self, envelope: Payload) -> None:
        if "auth" in envelope:
            self._auth = envelope["auth"]
        elif "ack" in envelope:
            await self._envelopes.send({"event": "answered", "data": envelope["data"]})
        elif isinstance(envelope.get("event"), str):
            answer = await self._perform(envelope["event"], envelope["data"])
            if "id" in envelope and answer is not None:
                await self._envelopes.send({"ack": envelope["id"], "data": answer})
        else:
            raise BrokenEnvelope(1008, "neither auth nor event nor ack")

    async def _perform(self, event: str, args: list[Any]) -> list[Any] | None:
        """Does what an event asks for and returns the arguments of its ack, or `None` to leave it without one."""
        match event:
            case "echo":
                await self._envelopes.send({"event": "echo", "data": args})
            case "req":
                return args
            case "ask":
                self._questions += 1
                await self._envelopes.send({"event": "question", "data": args, "id": self._questions})
            case "whoami":
                await self._envelopes.send({"event": "whoami", "data": [self._auth]})
                return [self._auth]
            case "raw":
                for frame in args:
                    await self._connection.send(frame)
            case "close":
                await self._connection.close(args[0]["code"], args[0].get("reason", ""))
                return None
            case "close_without_code":
                async with self._connection.send_context():
                    self._connection.protocol.send_close()
                return None
            case "binary3":
                await self._envelopes.send({"event": "binary3", "data": args[::-1]})
                return args[::-1]
            case "flood":
                return [await self._flood(args[0])]
            case "kick":
                await self._connection.close(1000, "kicked")
                return None
            case "kill_engine":
                self._connection.transport.abort()
                return None
            case "compression":
                return [self._compression()]
            case "header":
                return [self._connection.request.headers.get(args[0]) if self._connection.request else None]
            case "closings":
                async with CLOSED:
                    await CLOSED.wait_for(lambda: len(CLOSINGS) >= args[0])
                return [CLOSINGS]
            case "note":
                NOTES.append(args[0])
            case "notes":
                return [NOTES]
            case "requests":
                return [REQUESTS["seen"]]
            case _:
                return None
        return []


async def echo(connection: ServerConnection) -> None:
    """Returns each frame as it came, text as text and binary as binary."""
    async for frame in connection:
        await connection.send(frame)


async def handle(connection: ServerConnection) -> None:
    """Serves one connection by its path."""
    assert connection.request is not None
    with contextlib.suppress(ConnectionClosed):
        if connection.request.path.partition("?")[0] == "/echo":
            await echo(connection)
        else:
            await EnvelopeSession(connection).run()
    if (closing := connection.protocol.close_rcvd) is not None:
        async with CLOSED:
            CLOSINGS.append((closing.code, closing.reason))
            CLOSED.notify_all()


def check_path(connection: ServerConnection, request: Request) -> Response | None:
    """Refuses the token "bad" with 401, and other paths with 404."""
    REQUESTS["seen"] += 1
    if request.headers.get("Authorization") == "Bearer bad":
        return connection.respond(http.HTTPStatus.UNAUTHORIZED, "not with this token\n")
    if request.path.partition("?")[0] in ("/echo", "/envelope"):
        return None
    return connection.respond(http.HTTPStatus.NOT_FOUND, "no such path\n")


def add_fields(connection: ServerConnection, request: Request, response: Response) -> None:
    """Adds header fields for a client to read, one of them twice."""
    response.headers["X-Served-By"] = "node 7"
    for cookie in ("route=a7; Path=/", "theme=dark"):
        response.headers["Set-Cookie"] = cookie


def select_subprotocol(connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """The first of ours that was offered; a client that offered none of them is served without one."""
    return next((name for name in SUBPROTOCOLS if name in offered), None)


def compression(options: argparse.Namespace) -> ServerPerMessageDeflateFactory:
    """What the server wants of compression, if a client offers it."""
    return ServerPerMessageDeflateFactory(
        server_no_context_takeover=options.server_forgets,
        client_no_context_takeover=options.client_forgets,
        server_max_window_bits=options.server_bits,
        client_max_window_bits=options.client_bits,
    )


async def run(options: argparse.Namespace) -> None:
    """Serves until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    listener = command_line.listen(options.port)
    async with serve(
        handle,
        sock=listener,
        ssl=command_line.tls(options),
        compression=None,
        extensions=[] if options.no_compression else [compression(options)],
        subprotocols=SUBPROTOCOLS,
        select_subprotocol=select_subprotocol,
        process_request=check_path,
        process_response=add_fields,
        max_size=FRAME_SIZE,
        ping_interval=options.ping_interval,
        ping_timeout=options.ping_timeout,
        close_timeout=1,
    ):
        print(f"listening {listener.getsockname()[1]}", flush=True)
        await stop.wait()


def main() -> None:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(description="A WebSocket server for interoperability tests.")
    parser.add_argument("--ping-interval", type=float, default=25.0, metavar="SECONDS")
    parser.add_argument("--ping-timeout", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("--no-compression", action="store_true", help="decline compression")
    parser.add_argument("--server-forgets", action="store_true", help="compress each message by itself")
    parser.add_argument("--client-forgets", action="store_true", help="have clients compress each message by itself")
    parser.add_argument("--server-bits", type=int, metavar="BITS", help="size of the server's window")
    parser.add_argument("--client-bits", type=int, metavar="BITS", help="size of the clients' windows")
    options = command_line.parse(parser)
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
