"""The way to the chat over a raw WebSocket, with the JSON envelope."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import secrets
from collections.abc import Callable

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from chat_hub import ChatError, Hub, Member, Payload, is_count

ATTACHMENT_LIMIT = 100
OUTBOX_LIMIT = 20_000
AUTH_TIMEOUT = 10.0


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
            member = await self._hub.admit(
                auth, lambda event, payload: push({"event": event, "data": [payload]}), secrets.token_hex(10)
            )
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
            await self._hub.depart(member)

    async def _read(self, connection: ServerConnection, member: Member, push: Callable[[Payload], None]) -> None:
        try:
            async for frame in connection:
                envelope = _parse_envelope(frame)
                await _skip_attachments(connection, envelope)
                if "ack" in envelope:
                    continue
                event, args, ack = _event_parts(envelope)
                answer = await self._hub.handle(member, event, args)
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
    if ack is not None and not is_count(ack):
        raise BrokenEnvelope(1008, "id must be a whole number")
    return event, args, ack


async def _skip_attachments(connection: ServerConnection, envelope: Payload) -> None:
    """Reads past binary arguments: no event of the chat has one, so their placeholders are a bad request."""
    count = envelope.get("attachments", 0)
    if not is_count(count) or count > ATTACHMENT_LIMIT:
        raise BrokenEnvelope(1008, f"attachments must be a whole number up to {ATTACHMENT_LIMIT}")
    for _ in range(count):
        if isinstance(await connection.recv(), str):
            raise BrokenEnvelope(1008, "a text frame where an attachment was due")
