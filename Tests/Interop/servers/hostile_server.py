#!/usr/bin/env python3
"""A server that attacks its clients: it speaks just enough of HTTP, WebSocket and Engine.IO to be let in.

`--attack` names what it does to every connection. It prints `limit` when it first crosses what a client should bear, and
`stolen` when a client follows it to where it must not go. Requests to `/socket.io/` get an Engine.IO session, others a bare
WebSocket.
"""
from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import hashlib
import os
import ssl
import struct
import sys
import threading

MIB = 1 << 20
OPEN = '0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}'
PLACEHOLDER = '{"_placeholder":true,"num":0}'


def frame(first: int, payload: bytes = b"", length: int | None = None) -> bytes:
    """A frame, which may declare another length than it has."""
    size = len(payload) if length is None else length
    if size < 126:
        return bytes([first, size]) + payload
    if size < 1 << 16:
        return bytes([first, 126]) + struct.pack(">H", size) + payload
    return bytes([first, 127]) + struct.pack(">Q", size) + payload


class Client:
    """One connection to a client."""

    said_limit = False

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.path = ""
        self.headers: dict[str, str] = {}

    async def request(self) -> None:
        """Reads the request."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        self.path = first.split(" ")[1]
        self.headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines) if k}

    @property
    def is_engine(self) -> bool:
        return self.path.startswith("/socket.io/")

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def text(self, text: str) -> None:
        await self.send(frame(0x81, text.encode()))

    async def switch(self, extra: bytes = b"") -> None:
        """Answers 101; `extra` are more header lines."""
        digest = hashlib.sha1((self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
        accept = base64.b64encode(digest.digest())
        protocol = b""
        if "linkspan.json" in self.headers.get("sec-websocket-protocol", ""):
            protocol = b"Sec-WebSocket-Protocol: linkspan.json\r\n"
        await self.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + b"Sec-WebSocket-Accept: " + accept + b"\r\n" + protocol + extra + b"\r\n")

    async def welcome(self) -> None:
        """Lets the client in, up to where it believes to be connected."""
        await self.switch()
        if self.is_engine:
            await self.text(OPEN)
            await self.next_frame()
            await self.text('40{"sid":"x"}')

    async def next_frame(self) -> bytes:
        """A frame of the client's, unmasked."""
        head = await self.reader.readexactly(2)
        size = head[1] & 127
        if size == 126:
            size = struct.unpack(">H", await self.reader.readexactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", await self.reader.readexactly(8))[0]
        mask = await self.reader.readexactly(4)
        return bytes(byte ^ mask[index % 4] for index, byte in enumerate(await self.reader.readexactly(size)))

    def limit(self) -> None:
        """Says, once, that now the client has reason to go."""
        if not Client.said_limit:
            Client.said_limit = True
            print("limit", flush=True)

    async def gone(self) -> None:
        """Waits until the client is gone, reading what it says."""
        while await self.reader.read(1 << 16):
            pass

    def event(self, arguments: str, count: int = 0) -> str:
        """An event with so many attachments announced, in the words of the protocol."""
        if self.is_engine:
            return f"45{count}-[{arguments}]" if count else f"42[{arguments}]"
        name, _, rest = arguments.partition(",")
        return f'{{"event":{name},"data":[{rest}],"attachments":{count}}}'


async def fragments(client: Client, payload: bytes) -> None:
    await client.welcome()
    await client.send(frame(0x01, payload))
    many = frame(0x00, payload) * 512
    for _ in range(3):
        await client.send(many)
    client.limit()
    while True:
        await client.send(many)


async def endless_fragments(client: Client) -> None:
    await fragments(client, b"x")


async def empty_fragments(client: Client) -> None:
    await fragments(client, b"")


async def websocket_pings(client: Client) -> None:
    await client.welcome()
    reading = asyncio.ensure_future(client.gone())
    client.limit()
    try:
        while not reading.done():
            await client.send(frame(0x89, b"p" * 125) * 256)
    finally:
        reading.cancel()


async def unread_pings(client: Client) -> None:
    await client.welcome()
    client.limit()
    while True:
        await client.send(frame(0x89, b"p" * 125) * 256)


async def engine_pings(client: Client) -> None:
    await client.welcome()
    reading = asyncio.ensure_future(client.gone())
    client.limit()
    try:
        while not reading.done():
            await client.send(frame(0x81, b"2") * 256)
    finally:
        reading.cancel()


async def many_attachments(client: Client) -> None:
    await client.welcome()
    client.limit()
    await client.text(client.event(f'"bomb",{PLACEHOLDER}', 1_000_000))
    while True:
        await client.send(frame(0x82, b"x" * 1000) * 100)


async def zero_attachments(client: Client) -> None:
    await client.welcome()
    await client.text('450-["bomb"]')
    client.limit()
    while True:
        await client.send(frame(0x82, b"x" * 1000) * 100)


async def large_attachments(client: Client) -> None:
    await client.welcome()
    await client.text(client.event(f'"bomb",{PLACEHOLDER}', 10))
    for number in range(10):
        if number == 5:
            client.limit()
        await client.send(frame(0x82, b"x" * (3 * MIB)))
    await client.gone()


async def deep_json(client: Client) -> None:
    await client.welcome()
    client.limit()
    await client.text(client.event('"bomb",' + "[" * 100_000 + "]" * 100_000))
    await client.gone()


async def dripped_head(client: Client) -> None:
    client.limit()
    while True:
        await client.send(b"H" if not client.said_limit else b"x")
        await asyncio.sleep(0.1)


async def header_flood(client: Client) -> None:
    client.limit()
    await client.send(b"HTTP/1.1 101 Switching Protocols\r\n")
    while True:
        await client.send(b"X-Flood: " + b"x" * 100 + b"\r\n")


async def huge_length(client: Client) -> None:
    await client.welcome()
    client.limit()
    await client.send(frame(0x82, b"x" * 1000, length=1 << 62))
    while True:
        await client.send(b"x" * (1 << 16))


async def endless_message(client: Client) -> None:
    await client.welcome()
    await client.send(frame(0x02, b"x" * MIB))
    for number in range(64):
        if number == 15:
            client.limit()
        await client.send(frame(0x00, b"x" * MIB))
    await client.gone()


async def dripped_message(client: Client) -> None:
    await client.switch()
    await client.send(frame(0x82, b"x", length=1000))
    client.limit()
    while True:
        await client.send(b"x")
        await asyncio.sleep(0.02)


async def flowing_message(client: Client) -> None:
    """No attack at all: a large message over a slow line."""
    await client.switch()
    await client.send(frame(0x82, b"x", length=12 * MIB))
    for _ in range(50):
        await client.send(b"x" * (100 * 1024))
        await asyncio.sleep(0.02)
    client.limit()
    await client.gone()


async def unanswered_connect(client: Client) -> None:
    await client.switch()
    await client.text(OPEN)
    client.limit()
    # The heartbeat goes on, so that nothing but the missing answer is wrong.
    while True:
        await client.text("2")
        await asyncio.sleep(0.2)


async def absurd_numbers(client: Client) -> None:
    await client.switch()
    await client.text('0{"sid":"x","upgrades":[],"pingInterval":-1e400,"pingTimeout":-9223372036854775809,"maxPayload":1e400}')
    await client.next_frame()
    await client.text('40{"sid":"x"}')
    client.limit()
    await client.gone()


async def hostile_sid(client: Client) -> None:
    await client.switch()
    client.limit()
    await client.text(OPEN.replace('"x"', '"x\\r\\nX-Injected: 1\\u0000"'))
    await client.gone()


async def redirect(client: Client) -> None:
    client.limit()
    port = client.writer.get_extra_info("sockname")[1]
    await client.send(
        f"HTTP/1.1 302 Found\r\nLocation: http://localhost:{port}/stolen\r\nContent-Length: 0\r\n\r\n".encode())
    await client.gone()


async def text_for_binary(client: Client) -> None:
    await client.welcome()
    client.limit()
    await client.text(client.event(f'"bomb",{PLACEHOLDER}', 1))
    while True:
        await client.text(client.event('"more"'))


async def early_events(client: Client) -> None:
    """Small events before the answer to CONNECT, each in a read with much that is ignored."""
    await client.switch()
    await client.text(OPEN)
    client.limit()
    read = frame(0x81, b'42["early"]') + frame(0x81, b'42/other,["' + b"x" * 16_000 + b'"]')
    while True:
        await client.send(read)


ATTACKS = {
    function.__name__.replace("_", "-"): function
    for function in (
        endless_fragments, empty_fragments, websocket_pings, unread_pings, engine_pings, many_attachments,
        zero_attachments, large_attachments, deep_json, dripped_head, header_flood, huge_length, endless_message,
        dripped_message, flowing_message, unanswered_connect, absurd_numbers, hostile_sid, redirect, text_for_binary, early_events)
}


async def run(options: argparse.Namespace) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(reader, writer)
        with contextlib.suppress(OSError, EOFError, ssl.SSLError):
            await client.request()
            if "stolen" in client.path:
                print("stolen", flush=True)
            await ATTACKS[options.attack](client)
        writer.transport.abort()

    context = None
    if options.ssl_cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.ssl_cert, options.ssl_key)
    server = await asyncio.start_server(serve, "127.0.0.1", options.port, ssl=context)
    print(f"listening {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def end_with_input() -> None:
    """Ends the process when standard input ends, which is when the test's process is gone."""
    def watch() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack", choices=sorted(ATTACKS), required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ssl-cert")
    parser.add_argument("--ssl-key")
    parser.add_argument("--until-eof", action="store_true")
    options = parser.parse_args()
    if options.until_eof:
        end_with_input()
    asyncio.run(run(options))


main()
