#!/usr/bin/env python3
"""A server that lets its clients get so far, and no further.

`--at connection`: no TCP connection is taken. `--at accept`: it is, and nothing is read. `--at request`: TLS comes about if
`--ssl-cert` asks for it, and the request is not answered. `--at answer`: a WebSocket is agreed to, or an answer to a poll
begun, and there is no Engine.IO handshake. `--at handshake`: there is, and CONNECT is not answered.
"""
from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import ssl

import command_line
from hostile_client import OPEN, Client

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Length: "


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stage: str) -> None:
    client = Client(reader, writer)
    with contextlib.suppress(OSError, EOFError, ssl.SSLError):
        await client.request()
        if stage == "answer" and not client.is_polling:
            await client.switch()
        elif stage == "answer":
            await client.send(HEAD + b"100\r\n\r\n")
        elif stage == "handshake" and not client.is_polling:
            await client.switch()
            await client.text(OPEN)
        elif stage == "handshake" and "sid" not in client.query:
            return await client.send(HEAD + str(len(OPEN)).encode() + b"\r\n\r\n" + OPEN.encode())
        elif stage == "handshake" and client.method == "POST":
            return await client.send(HEAD + b"2\r\n\r\nok")
        await client.gone()


def fill(listener: socket.socket) -> list[socket.socket]:
    """Fills a listener's queue, so that the next connection waits."""
    fillers = [socket.socket() for _ in range(4)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
    return fillers


async def run(options: argparse.Namespace) -> None:
    is_open = options.at not in ("connection", "accept")
    listener = command_line.listen(options.port, backlog=0 if options.at == "connection" else 128)
    fillers = fill(listener) if options.at == "connection" else []
    if is_open:
        tls = command_line.tls(options)
        await asyncio.start_server(lambda r, w: end(r, w, options.at), sock=listener, ssl=tls)
    print(f"listening {listener.getsockname()[1]}", flush=True)
    await asyncio.Event().wait()
    del fillers


async def end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stage: str) -> None:
    await serve(reader, writer, stage)
    with contextlib.suppress(OSError):
        writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at", choices=("connection", "accept", "request", "answer", "handshake"), required=True)
    options = command_line.parse(parser)
    asyncio.run(run(options))


main()
