"""What is behind the hubs of several servers that serve one chat: Redis."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import RedisError, ResponseError

from chat_history import Line
from chat_hub import Audience, Member, Payload
from redis_history import RedisHistory
from redis_presence import RENEWAL_SECONDS, RedisPresence

# Who needs one more waits; one hears the news.
CONNECTIONS = 32

SendHint = Callable[[str, str, Payload, Member], Awaitable[None]]


def channel(url: str) -> str:
    """What the servers of a chat hear from each other on; raises `OSError` when that is not the URL of a Redis."""
    try:
        # Channels, unlike keys, do not belong to one database.
        return f"linkspan-chat:{parse_url(url).get('db', 0)}"
    except ValueError as error:
        raise OSError(f"{url} is not the URL of a Redis: {error}") from None


@dataclass
class Feed:
    """How far a room's lines were read; only who has its turn reads on."""

    position: int | None = None
    people: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class RedisBackplane:
    """Lines, people and news in Redis.

    What is published for a line is no more than a bell, which tells that there is one: the lines themselves are always
    read from the room's stream, from where reading ended before. So a bell that was missed or came twice does no harm.
    """

    def __init__(self, redis: Redis, channel: str, send_hint: SendHint) -> None:
        self._redis = redis
        self._channel = channel
        self._history = RedisHistory(redis, "linkspan-chat", channel)
        self._presence = RedisPresence(redis, "linkspan-chat", channel)
        self._send_hint = send_hint
        self._feeds: dict[str, Feed] = {}
        self._audience: Audience
        self.numbering = ""

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, url: str, send_hint: SendHint) -> AsyncIterator[RedisBackplane]:
        """Takes part while the context lasts; raises `OSError` when there is no Redis."""
        try:
            async with Redis.from_url(url, retry=Retry(NoBackoff(), 0)) as redis:
                await redis.ping()
        except (RedisError, OSError) as error:
            raise OSError(f"Redis at {url} cannot be used: {error}") from None
        # A Redis that is away later is waited for: people wait, and nothing is refused.
        patience = Retry(ExponentialBackoff(cap=0.5, base=0.02), -1)
        pool = BlockingConnectionPool.from_url(
            url, retry=patience, decode_responses=True, max_connections=CONNECTIONS, timeout=None
        )
        async with Redis.from_pool(pool) as redis:
            backplane = cls(redis, channel(url), send_hint)
            await backplane._renumber()
            await backplane._presence.renew()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(backplane._listen()), group.create_task(backplane._live())]
                try:
                    yield backplane
                finally:
                    for task in tasks:
                        task.cancel()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RENEWAL_SECONDS):
                    await backplane._presence.end()

    def attach(self, audience: Audience) -> None:
        self._audience = audience

    async def take(self, room: str, member: Member, text: str, key: str) -> int | None:
        seq = await self._history.take(room, member.name, text, key, member.id, room in member.rooms)
        if seq is not None:
            await self._advance(room, seq)
        return seq

    async def enter(self, room: str, member: Member, seen: int | None, welcome: Callable[[int, list[Line]], None]) -> None:
        feed = self._feeds.setdefault(room, Feed())
        feed.people += 1
        try:
            async with feed.turn:
                last = await self._read(room, feed)
                seen = -1 if seen is not None and seen > last else seen
                lines = [] if seen is None else await self._history.between(room, seen, last)
                welcome(last, [line for line, _ in lines])
        except BaseException:
            self._unfollow(room)
            raise
        # A member who enters after this is announced to this one, who is present by now.
        await self._presence.enter(room, member.id, member.name)

    async def leave(self, room: str, member: Member) -> None:
        self._unfollow(room)
        await self._presence.leave(room, member.id, member.name)

    async def names(self, room: str) -> list[str]:
        return await self._presence.names(room)

    async def last(self, room: str) -> int:
        return self._feeds[room].position or 0

    async def topic(self, room: str) -> str:
        return await self._redis.hget("linkspan-chat:topics", room) or ""

    async def set_topic(self, room: str, topic: str, member: Member) -> None:
        payload = {"room": room, "topic": topic, "name": member.name}
        news = {"topic": topic, "room": room, "payload": payload, "origin": member.id}
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.hset("linkspan-chat:topics", room, topic)
            pipeline.publish(self._channel, json.dumps(news))
            await pipeline.execute()

    async def send_direct(self, message: Payload) -> None:
        await self._redis.publish(self._channel, json.dumps({"direct": message}))

    async def hint(self, room: str, event: str, payload: Payload, member: Member) -> None:
        await self._send_hint(room, event, payload, member)
        hint = {"hint": event, "room": room, "payload": payload, "origin": member.id}
        await self._redis.publish(self._channel, json.dumps(hint))

    async def _listen(self) -> None:
        async with self._redis.pubsub() as channel:
            await channel.subscribe(self._channel)
            async for message in channel.listen():
                if message["type"] == "message":
                    await self._hear(json.loads(message["data"]))
                elif message["type"] == "subscribe":
                    # Also after each loss of the connection, during which bells were missed.
                    await self._repair()

    async def _hear(self, news: dict[str, Any]) -> None:
        match news:
            case {"seq": int(seq), "room": room}:
                await self._advance(room, seq)
            case {"event": event, "room": room, "name": name, "origin": origin}:
                self._audience.hear_notice(room, event, {"room": room, "name": name}, origin)
            case {"topic": str(), "room": room, "payload": payload, "origin": origin}:
                self._audience.hear_notice(room, "topic", payload, origin)
            case {"direct": dict(message)}:
                self._audience.hear_direct(message)
            case {"hint": event, "room": room, "payload": payload, "origin": origin}:
                self._audience.hear_hint(room, event, payload, origin)

    async def _live(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            # A Redis that is full, say, refuses this; then the next time may do.
            with contextlib.suppress(ResponseError):
                await self._presence.renew()

    def _unfollow(self, room: str) -> None:
        self._feeds[room].people -= 1
        if self._feeds[room].people == 0:
            del self._feeds[room]

    async def _advance(self, room: str, seq: int) -> None:
        """Has the audience hear the lines up to a number, if it is not beyond it, and all others that are there."""
        feed = self._feeds.get(room)
        if feed is None or (feed.position or 0) >= seq:
            return
        async with feed.turn:
            if (feed.position or 0) < seq:
                await self._read(room, feed)

    async def _renumber(self) -> None:
        # A Redis that has lost everything has no numbering either.
        await self._redis.setnx("linkspan-chat:numbering", secrets.token_hex(8))
        self.numbering = await self._redis.get("linkspan-chat:numbering")

    async def _repair(self) -> None:
        await self._renumber()
        for room, feed in list(self._feeds.items()):
            async with feed.turn:
                last = await self._history.last(room)
                if feed.position is not None and last < feed.position:
                    # This Redis has forgotten lines: as after any such loss, the room starts again.
                    feed.position = last
                    self._audience.hear_gap(room, None, last)
                await self._read(room, feed)

    async def _read(self, room: str, feed: Feed) -> int:
        """Reads on to the end, and returns the number of the last line."""
        if feed.position is None:
            feed.position = await self._history.last(room)
            return feed.position
        lines = await self._history.between(room, feed.position)
        # Everybody has left meanwhile; who has come since stands elsewhere.
        if self._feeds.get(room) is not feed:
            return feed.position
        for line, origin in lines:
            if (lost := line["seq"] - feed.position - 1) > 0:
                self._audience.hear_gap(room, lost, line["seq"] - 1)
            self._audience.hear_line(line, origin)
            feed.position = line["seq"]
        return feed.position
