#!/usr/bin/env python3
"""A GraphQL server (strawberry) with a query, a mutation and two subscriptions over WebSocket."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from typing import Any

import strawberry
from aiohttp import web
from strawberry.aiohttp.views import GraphQLView
from strawberry.exceptions import ConnectionRejectionError

import command_line

LINES: list[str] = []
LISTENERS: set[asyncio.Queue[str]] = set()


@strawberry.type
class Query:
    @strawberry.field
    def double(self, number: int) -> int:
        return number * 2

    @strawberry.field
    def listeners(self) -> int:
        return len(LISTENERS)


@strawberry.type
class Mutation:
    @strawberry.mutation
    def say(self, text: str) -> int:
        LINES.append(text)
        for queue in LISTENERS:
            queue.put_nowait(text)
        return len(LINES)


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def count(self, to: int = 3) -> AsyncIterator[int]:
        for number in range(to):
            yield number

    @strawberry.subscription
    async def said(self) -> AsyncIterator[str]:
        queue: asyncio.Queue[str] = asyncio.Queue()
        LISTENERS.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            LISTENERS.discard(queue)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--token", help="the token of who may connect")
    options = command_line.parse(parser)

    class View(GraphQLView[Any, Any]):
        async def on_ws_connect(self, context: dict[str, Any]) -> Any:
            if options.token and context["connection_params"] != {"token": options.token}:
                raise ConnectionRejectionError
            return await super().on_ws_connect(context)

    app = web.Application()
    schema = strawberry.Schema(query=Query, mutation=Mutation, subscription=Subscription)
    app.router.add_route("*", "/graphql", View(schema=schema))
    runner = web.AppRunner(app)
    await runner.setup()
    listener = command_line.listen(options.port)
    await web.SockSite(runner, listener).start()
    print(f"listening {listener.getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
