#!/usr/bin/env python3
"""Another client of the server, of another make (nats-py): it describes, echoes, replies, asks, and reads a stream."""

from __future__ import annotations

import argparse
import asyncio
import json

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import DiscardPolicy

import command_line


async def texts_of_stream(client: Client) -> list[object]:
    """What the stream `jobs` has, in its order."""
    manager = client.jetstream(timeout=5)
    for _ in range(100):
        try:
            count = (await manager.stream_info("jobs")).state.messages
            kept = [await manager.get_msg("jobs", number) for number in range(1, count + 1)]
            return [[message.subject, json.loads(message.data or b"null")] for message in kept]
        # As long as the cluster has no leader.
        except nats.errors.Error:
            await asyncio.sleep(0.1)
    raise TimeoutError("the stream cannot be read")


async def heard(client: Client, message: Msg) -> None:
    match message.subject.split(".")[1]:
        case "describe":
            text = {"subject": message.subject, "content": message.data.decode("latin-1"), "headers": message.headers}
            await client.publish("client.described", json.dumps(text).encode())
        case "echo":
            await client.publish("client.echo", message.data, headers=message.headers)
        case "request":
            await message.respond(message.data)
        case "room":
            await client.jetstream(timeout=5).purge_stream("jobs")
            await client.publish("client.room", b"true")
        case "ask":
            answer = await client.request("client.question", message.data, timeout=30)
            await client.publish("client.answered", answer.data)
        case "stream":
            for text in await texts_of_stream(client):
                await client.publish("client.kept", json.dumps(text).encode())
            await client.publish("client.kept", b"null")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker-port", type=int, required=True)
    parser.add_argument("--stream", action="store_true", help="makes the stream `jobs` of the subjects `jobs.>`")
    parser.add_argument("--limit", type=int, default=-1, help="how many messages the stream takes (default: any number)")
    parser.add_argument("--copies", type=int, default=1, help="how many nodes keep the stream")
    arguments = command_line.parse(parser)
    client = await nats.connect(
        f"ws://127.0.0.1:{arguments.broker_port}", max_reconnect_attempts=-1, reconnect_time_wait=0.1)
    if arguments.stream:
        await make_stream(client, arguments)

    async def call(message: Msg) -> None:
        await heard(client, message)

    await client.subscribe("peer.>", cb=call)
    await client.flush()
    print(f"listening {arguments.broker_port}", flush=True)
    await asyncio.Event().wait()


async def make_stream(client: Client, arguments: argparse.Namespace) -> None:
    for _ in range(300):
        try:
            await client.jetstream(timeout=5).add_stream(
                name="jobs", subjects=["jobs.>"], num_replicas=arguments.copies, max_msgs=arguments.limit,
                discard=DiscardPolicy.NEW)
            return
        # As long as the cluster has no leader.
        except nats.errors.Error:
            await asyncio.sleep(0.1)
    raise TimeoutError("the cluster takes no stream")


if __name__ == "__main__":
    asyncio.run(main())
