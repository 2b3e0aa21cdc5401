"""Sits in a room over python-socketio, and writes what happens there to standard output until its input ends."""

import asyncio
import sys

import socketio


def show(text: str) -> None:
    print(text, flush=True)


async def listen(url: str, name: str, room: str) -> None:
    # Not the client with threads: it hands events to its handlers in no certain order.
    client = socketio.AsyncClient(reconnection=False)
    client.on("message", lambda line: show(f"{line['from']}: {line['text']}"))
    client.on("joined", lambda who: show(f"* {who['name']} joined"))
    client.on("left", lambda who: show(f"* {who['name']} left"))
    client.on("room", lambda place: show(f"* in {place['room']}"))
    await client.connect(url, auth={"name": name, "rooms": [room]}, transports=["websocket"])
    await asyncio.to_thread(sys.stdin.read)
    await client.disconnect()


asyncio.run(listen(*sys.argv[1:4]))
