#!/usr/bin/env python3
"""A server for the chat of PROTOCOL.md, which people reach over Socket.IO or over a raw WebSocket.

`Hub` is the chat itself and knows of no network. `SocketIOFront` and `WebSocketFront` bring people to it. What was
said is kept by `chat_history.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import signal
import socket
import ssl
import sys
import tempfile
import unicodedata
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import socketio
from aiohttp import web
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

# A cache of bytecode has no place among the sources of the chat.
sys.dont_write_bytecode = True
from chat_history import History  # noqa: E402

NAME_LIMIT = 64
TEXT_LIMIT = 8_192
KEY_LIMIT = 128
ATTACHMENT_LIMIT = 100
OUTBOX_LIMIT = 20_000
AUTH_TIMEOUT = 10.0

Payload = dict[str, Any]


class ChatError(Exception):
    """A request, or a person, that the chat refuses."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(eq=False)
class Member:
    """One connection of one person. `deliver` must neither wait nor reorder."""

    name: str
    deliver: Callable[[str, Payload], None]
    rooms: set[str] = field(default_factory=set)


class Hub:
    """The rooms, and what people may do in them.

    Nothing in here waits, so each request is complete before the next one starts. That is what gives every
    receiver the same order.
    """

    def __init__(self, history: History, refuse: bool = False) -> None:
        self._history = history
        self._refuse = refuse
        self._rooms: dict[str, set[Member]] = {}

    def admit(self, auth: object, deliver: Callable[[str, Payload], None]) -> Member:
        """Lets a person in and joins the rooms they ask for; raises `ChatError` to refuse them."""
        if self._refuse:
            raise ChatError("closed", "the chat is closed")
        credentials = auth if isinstance(auth, dict) else {}
        member = Member(_label(credentials.get("name"), "bad_name", "name"), deliver)
        rooms = credentials.get("rooms", [])
        if not isinstance(rooms, list):
            raise ChatError("bad_request", "rooms must be a list")
        seen = credentials.get("seen", {})
        if not isinstance(seen, dict) or not all(map(_is_count, seen.values())):
            raise ChatError("bad_request", "seen must be an object of whole numbers")
        for room in [_label(room, "bad_room", "room") for room in rooms]:
            self._join(member, room, seen.get(room))
        return member

    def depart(self, member: Member) -> None:
        """Takes a lost connection out of all its rooms."""
        for room in list(member.rooms):
            self._leave(member, room)

    def handle(self, member: Member, event: object, args: Sequence[object]) -> Payload:
        """Does what one event asks for and returns its acknowledgement."""
        try:
            if len(args) != 1 or not isinstance(args[0], dict):
                raise ChatError("bad_request", "the payload must be one object")
            return {"ok": True, **self._perform(member, event, args[0])}
        except ChatError as error:
            return {"ok": False, "error": {"code": error.code, "message": error.message}}

    def _perform(self, member: Member, event: object, payload: Payload) -> Payload:
        room = payload.get("room")
        if not isinstance(room, str):
            raise ChatError("bad_request", "room must be a string")
        _label(room, "bad_room", "room")
        match event:
            case "join":
                seen = payload.get("seen")
                if seen is not None and not _is_count(seen):
                    raise ChatError("bad_request", "seen must be a whole number")
                self._join(member, room, seen)
                return {"members": self._names(room), "seq": self._history.room(room).last}
            case "say":
                return {"seq": self._say(member, room, payload.get("text"), payload.get("id"))}
            case "who":
                _require_member(member, room)
                return {"members": self._names(room)}
            case "typing":
                _require_member(member, room)
                self._send(room, "typing", {"room": room, "name": member.name}, member)
            case "leave":
                _require_member(member, room)
                self._leave(member, room)
            case _:
                raise ChatError("bad_request", "no such event")
        return {}

    def _say(self, member: Member, room: str, text: object, key: object) -> int:
        if not isinstance(text, str) or not isinstance(key, str):
            raise ChatError("bad_request", "text and id must be strings")
        if not 0 < len(key) <= KEY_LIMIT or not _is_unicode(key):
            raise ChatError("bad_request", f"id must have 1 to {KEY_LIMIT} characters")
        if not 0 < len(text) <= TEXT_LIMIT or not _is_unicode(text):
            raise ChatError("bad_text", f"text must have 1 to {TEXT_LIMIT} characters")
        # A retry may follow a reconnect, so that a line already taken is confirmed whatever became of the membership.
        if (taken := self._history.room(room).number(member.name, key)) is not None:
            return taken
        _require_member(member, room)
        try:
            line = self._history.append(room, member.name, text, key)
        except OSError as error:
            raise ChatError("not_kept", f"the line could not be kept: {error.strerror}") from None
        self._send(room, "message", line, member)
        return line["seq"]

    def _join(self, member: Member, room: str, seen: int | None) -> None:
        if room in member.rooms:
            return
        # A person who reconnects before the old connection is missed never left, as the others see it.
        if member.name not in self._names(room):
            self._send(room, "joined", {"room": room, "name": member.name}, member)
        self._catch_up(member, room, seen)
        member.rooms.add(room)
        self._rooms.setdefault(room, set()).add(member)

    def _catch_up(self, member: Member, room: str, seen: int | None) -> None:
        """Tells a member who enters where the room stands, and what was said since they last looked."""
        last = self._history.room(room).last
        lines = [] if seen is None else self._history.room(room).after(seen)
        if seen is not None and seen + len(lines) != last:
            lost = last - len(lines) - seen
            member.deliver("gap", {"room": room, "lines": lost if lost > 0 else None})
        member.deliver("room", {"room": room, "seq": last - len(lines)})
        for line in lines:
            member.deliver("message", line)

    def _leave(self, member: Member, room: str) -> None:
        member.rooms.discard(room)
        members = self._rooms[room]
        members.discard(member)
        if not members:
            del self._rooms[room]
        elif member.name not in self._names(room):
            self._send(room, "left", {"room": room, "name": member.name}, member)

    def _names(self, room: str) -> list[str]:
        return sorted({member.name for member in self._rooms.get(room, ())})

    def _send(self, room: str, event: str, payload: Payload, sender: Member) -> None:
        for member in self._rooms.get(room, ()):
            if member is not sender:
                member.deliver(event, payload)


def _label(value: object, code: str, what: str) -> str:
    """The name of a person or a room, when it is one."""
    if not isinstance(value, str) or not value.strip() or len(value) > NAME_LIMIT:
        raise ChatError(code, f"a {what} must have 1 to {NAME_LIMIT} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise ChatError(code, f"a {what} must not have control characters")
    return value


def _is_unicode(text: str) -> bool:
    """Whether others can read the text: JSON can spell half a surrogate pair, UTF-8 cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _require_member(member: Member, room: str) -> None:
    if room not in member.rooms:
        raise ChatError("not_in_room", "join the room first")


class SocketIOFront:
    """Brings people to the hub over Socket.IO, on the namespace `/`."""

    def __init__(self, hub: Hub, ping_interval: float, ping_timeout: float) -> None:
        self._hub = hub
        self._members: dict[str, tuple[Member, asyncio.Task[None]]] = {}
        # Handlers must not run as tasks of their own: a client's events would overtake each other.
        self.server = socketio.AsyncServer(
            async_mode="aiohttp",
            async_handlers=False,
            cors_allowed_origins="*",
            ping_interval=ping_interval,
            ping_timeout=ping_timeout,
        )
        self.server.on("connect", self._connect)
        self.server.on("disconnect", self._disconnect)
        self.server.on("*", self._event)

    async def _connect(self, sid: str, environ: Payload, auth: object = None) -> None:
        outbox: asyncio.Queue[tuple[str, Payload]] = asyncio.Queue()
        try:
            member = self._hub.admit(auth, lambda event, payload: outbox.put_nowait((event, payload)))
        except ChatError as error:
            raise socketio.exceptions.ConnectionRefusedError(error.message, {"code": error.code}) from None
        self._members[sid] = (member, asyncio.create_task(self._write(sid, outbox)))

    async def _disconnect(self, sid: str, reason: str) -> None:
        if sid in self._members:
            member, writer = self._members.pop(sid)
            writer.cancel()
            self._hub.depart(member)

    async def _event(self, event: object, sid: str, *args: object) -> Payload:
        return self._hub.handle(self._members[sid][0], event, args)

    async def _write(self, sid: str, outbox: asyncio.Queue[tuple[str, Payload]]) -> None:
        while True:
            event, payload = await outbox.get()
            await self.server.emit(event, payload, to=sid)


class BrokenEnvelope(Exception):
    """A frame that is not the envelope; the connection ends with `code`."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class WebSocketFront:
    """Brings people to the hub over a raw WebSocket, with the JSON envelope."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def handle(self, connection: ServerConnection) -> None:
        """Serves one connection until it ends."""
        outbox: asyncio.Queue[Payload] = asyncio.Queue()
        limit = math.inf

        def push(envelope: Payload) -> None:
            # Who does not read must not fill the memory.
            if outbox.qsize() >= limit:
                connection.transport.abort()
            else:
                outbox.put_nowait(envelope)

        try:
            auth = await _read_auth(connection)
            member = self._hub.admit(auth, lambda event, payload: push({"event": event, "data": [payload]}))
        except ChatError as error:
            await connection.close(4401, error.message)
            return
        except BrokenEnvelope as error:
            await connection.close(error.code, str(error))
            return
        except ConnectionClosed:
            return
        # What was missed does not count: else someone who missed much could never come back.
        limit = outbox.qsize() + OUTBOX_LIMIT
        writer = asyncio.create_task(_write_envelopes(connection, outbox))
        try:
            await self._read(connection, member, push)
        finally:
            writer.cancel()
            self._hub.depart(member)

    async def _read(self, connection: ServerConnection, member: Member, push: Callable[[Payload], None]) -> None:
        try:
            async for frame in connection:
                envelope = _parse_envelope(frame)
                await _skip_attachments(connection, envelope)
                if "ack" in envelope:
                    continue
                event, args, ack = _event_parts(envelope)
                answer = self._hub.handle(member, event, args)
                if ack is not None:
                    push({"ack": ack, "data": [answer]})
        except BrokenEnvelope as error:
            await connection.close(error.code, str(error))
        except ConnectionClosed:
            pass


async def _read_auth(connection: ServerConnection) -> object:
    try:
        async with asyncio.timeout(AUTH_TIMEOUT):
            return _parse_envelope(await connection.recv()).get("auth")
    except TimeoutError:
        raise BrokenEnvelope(1008, "no auth frame came") from None


async def _write_envelopes(connection: ServerConnection, outbox: asyncio.Queue[Payload]) -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            envelope = await outbox.get()
            await connection.send(json.dumps(envelope, ensure_ascii=False, separators=(",", ":")))


def _parse_envelope(frame: str | bytes) -> Payload:
    if not isinstance(frame, str):
        raise BrokenEnvelope(1008, "a binary frame that no envelope announced")
    try:
        envelope = json.loads(frame)
    except (ValueError, RecursionError):
        raise BrokenEnvelope(1007, "not JSON") from None
    if not isinstance(envelope, dict):
        raise BrokenEnvelope(1008, "the envelope must be an object")
    return envelope


def _event_parts(envelope: Payload) -> tuple[str, list[object], int | None]:
    """The event, its arguments, and the id of the ack when one is wanted."""
    event, args, ack = envelope.get("event"), envelope.get("data", []), envelope.get("id")
    if not isinstance(event, str) or not isinstance(args, list):
        raise BrokenEnvelope(1008, "event must be a string and data a list")
    if ack is not None and not _is_count(ack):
        raise BrokenEnvelope(1008, "id must be a whole number")
    return event, args, ack


async def _skip_attachments(connection: ServerConnection, envelope: Payload) -> None:
    """Reads past binary arguments: no event of the chat has one, so their placeholders are a bad request."""
    count = envelope.get("attachments", 0)
    if not _is_count(count) or count > ATTACHMENT_LIMIT:
        raise BrokenEnvelope(1008, f"attachments must be a whole number up to {ATTACHMENT_LIMIT}")
    for _ in range(count):
        if isinstance(await connection.recv(), str):
            raise BrokenEnvelope(1008, "a text frame where an attachment was due")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@contextlib.asynccontextmanager
async def serve_socketio(hub: Hub, listener: socket.socket, options: argparse.Namespace) -> AsyncIterator[str]:
    """Serves Socket.IO while the context lasts, and yields its URL."""
    front = SocketIOFront(hub, options.ping_interval, options.ping_timeout)
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
        sock=listener,
        ssl=tls,
        ping_interval=options.ping_interval,
        ping_timeout=options.ping_timeout,
        close_timeout=1,
    ):
        yield _url("wss" if tls else "ws", listener)


def _listen(host: str, port: int) -> socket.socket:
    # create_server() sets SO_REUSEADDR: a restart gets its port back although old connections linger.
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
    hub = Hub(History(_history_path(options.history, listener)), refuse=options.refuse)
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(serve_socketio(hub, listener, options))
        lines = [f"listening socketio {url}"]
        if options.websocket_port is not None:
            second = _listen(options.host, options.websocket_port)
            url = await stack.enter_async_context(serve_websocket(hub, second, options))
            lines.append(f"listening websocket {url}")
        print("\n".join(lines), flush=True)
        await stop.wait()


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
    parser.add_argument("--refuse", action="store_true", help="refuse everyone, to test how clients take it")
    options = parser.parse_args()
    if (options.ssl_cert is None) != (options.ssl_key is None):
        parser.error("--ssl-cert and --ssl-key go together")
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
