#!/usr/bin/env python3
"""A server that attacks its clients: it speaks just enough of HTTP, WebSocket and Engine.IO to be let in.

`--attack` names what it does to every connection; without it, the last part of the request's path does. It prints `limit`,
and `limit` with the path, when it first crosses what a client should bear, and `stolen` when a client follows it to where it
must not go, or lets it write a header. Requests to paths below `/socket.io/` get an Engine.IO session, others a bare
WebSocket.
"""
from __future__ import annotations

import argparse
import asyncio
import contextlib
import ssl
import struct

import command_line
from hostile_client import MIB, OPEN, PLACEHOLDER, Client, frame
from hostile_polling import CANDIDATE_ATTACKS, POLLING_ATTACKS, serve_poll


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
    await client.send(b"HTTP/1.1 200 ")
    while True:
        await client.send(b"O")
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
        await asyncio.sleep(0.06)
    client.limit()
    await client.gone()


async def speaking_without_pings(client: Client) -> None:
    """A server without timers, or behind a slow line: it speaks, then one message takes long, then it is silent."""
    await client.switch()
    await client.text('0{"sid":"x","upgrades":[],"pingInterval":200,"pingTimeout":200,"maxPayload":1000000}')
    await client.next_frame()
    await client.text('40{"sid":"x"}')
    for _ in range(12):
        await client.text(client.event('"tick"'))
        await asyncio.sleep(0.1)
    message = frame(0x81, client.event('"slow","' + "x" * 60 + '"').encode())
    for start in range(0, len(message), 4):
        await client.send(message[start:start + 4])
        await asyncio.sleep(0.06)
    client.limit()
    await client.gone()


async def missing_attachment(client: Client) -> None:
    await client.switch()
    await client.text(client.event(f'"bomb",{PLACEHOLDER}', 1))
    client.limit()
    # Only a Close frame can come.
    print("closed", struct.unpack(">H", (await client.next_frame())[:2])[0], flush=True)


async def late_attachments(client: Client) -> None:
    """No attack at all: there is always a message that lacks its attachment, but never the same."""
    await client.switch()
    await client.text(client.event(f'"late",{PLACEHOLDER}', 1))
    for _ in range(6):
        await asyncio.sleep(0.5)
        await client.send(frame(0x82, b"x") + frame(0x81, client.event(f'"late",{PLACEHOLDER}', 1).encode()))
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


async def late_refusal(client: Client) -> None:
    """Agrees to the upgrade before it looks at the version, as engine.io does."""
    await client.switch()
    client.limit()
    body = b'{"code":5,"message":"Unsupported protocol version"}'
    await client.send(
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-type: text/html\r\nContent-Length: "
        + str(len(body)).encode() + b"\r\n\r\n" + body)
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
    read = frame(0x81, b'42["early"]') + frame(0x81, b'42/other,["' + b"x" * 6_000 + b'"]')
    while True:
        await client.send(read)


ATTACKS = {
    function.__name__.replace("_", "-"): function
    for function in (
        endless_fragments, empty_fragments, websocket_pings, unread_pings, engine_pings, many_attachments,
        zero_attachments, large_attachments, deep_json, dripped_head, header_flood, huge_length, endless_message,
        dripped_message, flowing_message, speaking_without_pings, missing_attachment, late_attachments, unanswered_connect, absurd_numbers, hostile_sid, redirect, late_refusal,
        text_for_binary, early_events)
}
NAMES = sorted([*ATTACKS, *POLLING_ATTACKS, *CANDIDATE_ATTACKS])


async def attack(client: Client, name: str) -> None:
    """Does to a connection what is done by attacks of this name."""
    if not client.is_polling:
        await (ATTACKS.get(name) or CANDIDATE_ATTACKS[name])(client)
    elif name in POLLING_ATTACKS:
        await POLLING_ATTACKS[name](client)
    else:
        await serve_poll(client)


async def run(options: argparse.Namespace) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(reader, writer)
        with contextlib.suppress(OSError, EOFError, ssl.SSLError):
            await client.request()
            if "stolen" in client.path or "x-injected" in client.headers:
                print("stolen", flush=True)
            await attack(client, options.attack or client.path.strip("/").split("/")[-1])
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", options.port, ssl=command_line.tls(options))
    print(f"listening {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack", choices=NAMES)
    parser.add_argument("--cookie", help="the name and value of a cookie to set in answers to polls")
    options = command_line.parse(parser)
    Client.cookie = options.cookie
    asyncio.run(run(options))


main()
