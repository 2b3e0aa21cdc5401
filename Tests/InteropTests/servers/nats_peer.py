#!/usr/bin/env python3
"""Another client of the server, of another make (nats-py): it describes, echoes, replies, asks, and reads a stream."""

from __future__ import annotations

import argparse
import asyncio
import json

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

import command_line


async def heard(client: Client, message: Msg) -> None:
    match message.subject.split(".")[1]:
        case "describe":
            text = {"subject": message.subject, "content": message.data.decode("latin-1"), "headers": message.headers}
            await client.publish("client.described", json.dumps(text).encode())
        case "echo":
            await client.publish("client.echo", message.data, headers=message.headers)
        case "request":
            await message.respond(message.data)
        case "ask":
            answer = await client.request("client.question", message.data, timeout=30)
            await client.publish("client.answered", answer.data)
        case "stream":
            manager = client.jetstream()
            info = await manager.stream_info("jobs")
            texts = []
            for number in range(1, info.state.messages + 1):
                kept = await manager.get_msg("jobs", number)
                texts.append(json.loads(kept.data or b"null"))
            await message.respond(json.dumps(texts).encode())


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker-port", type=int, required=True)
    parser.add_argument("--stream", action="store_true", help="makes the stream `jobs` of the subjects `jobs.>`")
    parser.add_argument("--copies", type=int, default=1, help="how many nodes keep the stream")
    arguments = command_line.parse(parser)
    client = await nats.connect(f"ws://127.0.0.1:{arguments.broker_port}", max_reconnect_attempts=-1)
    if arguments.stream:
        await client.jetstream(timeout=30).add_stream(
            name="jobs", subjects=["jobs.>"], num_replicas=arguments.copies)

    async def call(message: Msg) -> None:
        await heard(client, message)

    await client.subscribe("peer.>", cb=call)
    await client.flush()
    print(f"listening {arguments.broker_port}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
