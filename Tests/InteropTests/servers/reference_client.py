#!/usr/bin/env python3
"""What python-socketio's client and the websockets library find when they talk to a server that is under test.

Prints one line for each thing that is as it should be; ends with status 1 and says why at the first that is not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any

import socketio
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

BLOB = bytes(range(256)) * 256
LIMIT = 10


def check(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"not so: {what}")
    print(what, flush=True)


async def talk(url: str, transports: list[str]) -> None:
    """Events, acks, questions, binary, a second namespace, and the end that the server decides on."""
    client = socketio.AsyncClient(reconnection=False)
    heard: asyncio.Queue[tuple[str, tuple[Any, ...]]] = asyncio.Queue()
    gone: asyncio.Queue[str] = asyncio.Queue()
    client.on("*", lambda event, *args: heard.put_nowait((event, args)))
    client.on("disconnect", lambda reason: gone.put_nowait(reason))
    client.on("question", lambda *args: ("indeed", BLOB))
    await client.connect(url, auth={"name": "reference"}, transports=transports, namespaces=["/", "/second"])
    final = "websocket" if "websocket" in transports else "polling"
    check(f"carried by {final}", client.transport() == final)
    check("credentials are shown", await client.call("whoami", timeout=LIMIT) == {"name": "reference"})
    await heard.get()
    check("a reply has its arguments", tuple(await client.call("req", ("é😀", 7), timeout=LIMIT)) == ("é😀", 7))
    check("binary replies", await client.call("req", BLOB, timeout=LIMIT) == BLOB)
    text = "x" * (1 << 20)
    check("1 MiB", await client.call("req", text, timeout=LIMIT) == text)
    await client.emit("ask", "well?")
    check("a question", await asyncio.wait_for(heard.get(), LIMIT) == ("answered", ("indeed", BLOB)))
    await client.emit("flood", {"n": 300, "bytes": 10})
    numbers = [(await asyncio.wait_for(heard.get(), LIMIT))[1][0]["id"] for _ in range(300)]
    check("a flood in its order", numbers == list(range(300)))
    check("the second namespace", await client.call("req", 1, namespace="/second", timeout=LIMIT) == 1)
    # Some heartbeats, after which a client that was not pinged or not understood would be gone.
    await asyncio.sleep(1.5)
    check("heartbeats", await client.call("req", 2, timeout=LIMIT) == 2)
    await client.emit("kick")
    check("a kick", await asyncio.wait_for(gone.get(), LIMIT) == client.reason.SERVER_DISCONNECT)
    await client.disconnect()


async def be_refused(url: str, transports: list[str]) -> None:
    """CONNECT_ERROR with words and a code, and the namespace that there is not."""
    for namespace, message in [("/", "refused as asked"), ("/unknown", "Invalid namespace")]:
        client = socketio.AsyncClient(reconnection=False)
        errors: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        client.on("connect_error", errors.put_nowait, namespace=namespace)
        try:
            await client.connect(url, auth={"refuse": True}, transports=transports, namespaces=[namespace])
            raise SystemExit("not refused")
        except socketio.exceptions.ConnectionError:
            error = await asyncio.wait_for(errors.get(), LIMIT)
            check(f"refused: {message}", error["message"] == message)
            if namespace == "/":
                check("with a code", error["data"] == {"code": "bad_name"})
        await client.disconnect()


async def speak_envelopes(url: str) -> None:
    """The JSON envelope over a raw WebSocket."""
    async with connect(f"{url.replace('http', 'ws')}/anything") as socket:
        await socket.send(json.dumps({"auth": {"name": "reference"}}))
        await socket.send(json.dumps({"event": "req", "data": ["é😀", 7], "id": 3}))
        check("an envelope", json.loads(await socket.recv()) == {"ack": 3, "data": ["é😀", 7]})
        placeholder = {"_placeholder": True, "num": 0}
        await socket.send(json.dumps({"event": "req", "data": [placeholder], "id": 4, "attachments": 1}))
        await socket.send(BLOB)
        check("an attachment", json.loads(await socket.recv())["attachments"] == 1 and await socket.recv() == BLOB)
    async with connect(f"{url.replace('http', 'ws')}/") as socket:
        await socket.send(json.dumps({"auth": {"refuse": True}}))
        try:
            await asyncio.wait_for(socket.recv(), LIMIT)
            raise SystemExit("not refused")
        except ConnectionClosed as closed:
            check("4401", closed.rcvd is not None and closed.rcvd.code == 4401)


async def run(options: argparse.Namespace) -> None:
    if options.way == "envelope":
        return await speak_envelopes(options.url)
    transports = {"upgrade": ["polling", "websocket"]}.get(options.way, [options.way])
    await talk(options.url, transports)
    await be_refused(options.url, transports)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Checks a server with the reference implementation's client.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--way", choices=["websocket", "polling", "upgrade", "envelope"], required=True)
    arguments = parser.parse_args()
    asyncio.run(asyncio.wait_for(run(arguments), 60))
