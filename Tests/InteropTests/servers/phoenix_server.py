#!/usr/bin/env python3
"""Channels in the way of Phoenix, in version 2 of its serializer; `crash` has the channel end with an error."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

import command_line

# The connections of each topic, with their join references.
TOPICS: dict[str, dict[ServerConnection, str]] = {}


async def heard(connection: ServerConnection, message: list[Any]) -> None:
    join, reference, topic, event, payload = message

    async def reply(status: str, response: Any) -> None:
        content = {"status": status, "response": response}
        await connection.send(json.dumps([join, reference, topic, "phx_reply", content]))

    members = TOPICS.setdefault(topic, {})
    if topic == "phoenix" and event == "heartbeat":
        await reply("ok", {})
    elif event == "phx_join" and payload.get("token") == "bad":
        await reply("error", {"reason": "unauthorized"})
    elif event == "phx_join":
        members[connection] = join
        await reply("ok", {"members": len(members)})
    elif connection not in members:
        await reply("error", {"reason": "unmatched topic"})
    elif event == "phx_leave":
        del members[connection]
        await reply("ok", {})
    elif event == "crash":
        del members[connection]
        await connection.send(json.dumps([join, None, topic, "phx_error", {}]))
    elif event == "count":
        await reply("ok", {"members": len(members)})
    elif event == "refuse":
        await reply("error", {"reason": "no"})
    else:
        for member, reference in members.items():
            await member.send(json.dumps([reference, None, topic, event, payload]))


async def serve_one(connection: ServerConnection, is_silent: bool) -> None:
    try:
        async for text in connection:
            message = json.loads(text)
            if not (is_silent and message[2] == "phoenix"):
                await heard(connection, message)
    finally:
        for members in TOPICS.values():
            members.pop(connection, None)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--silent", action="store_true", help="answer no heartbeat")
    options = command_line.parse(parser)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    listener = command_line.listen(options.port)
    async with serve(lambda connection: serve_one(connection, options.silent), sock=listener):
        print(f"listening {listener.getsockname()[1]}", flush=True)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
