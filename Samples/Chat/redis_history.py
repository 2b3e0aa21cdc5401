"""The lines said in each room, in Redis: numbered, kept and recognised by one atomic step."""

from __future__ import annotations

import errno
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from chat_history import KEPT_LINES, Line

# A room's lines are a stream whose ids are their numbers. Beside it is a hash with the number for each key of a kept
# line. Every server of the chat gets it on the channel once the line is kept.
TAKE = """
local taken = redis.call('HGET', KEYS[2], ARGV[4])
if taken then return tonumber(taken) end
if ARGV[6] ~= '1' then return false end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local seq = last and tonumber(string.match(last[1], '^%d+')) + 1 or 1
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[7]) then
    local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
    redis.call('HDEL', KEYS[2], oldest[2][8])
    redis.call('XDEL', KEYS[1], oldest[1])
end
redis.call('XADD', KEYS[1], string.format('%.0f-0', seq),
    'from', ARGV[1], 'text', ARGV[2], 'id', ARGV[3], 'key', ARGV[4], 'origin', ARGV[5])
redis.call('HSET', KEYS[2], ARGV[4], string.format('%.0f', seq))
redis.call('PUBLISH', ARGV[8], cjson.encode({seq = seq, room = ARGV[9]}))
return seq
"""


class RedisHistory:
    """All rooms. What is in Redis when a line is confirmed is Redis' own affair, see its `appendfsync`."""

    def __init__(self, redis: Redis, prefix: str, channel: str) -> None:
        self._redis = redis
        self._prefix = prefix
        self._channel = channel
        self._take = redis.register_script(TAKE)

    async def take(self, room: str, sender: str, text: str, key: str, origin: str, is_new_allowed: bool) -> int | None:
        """The number of a line, which is kept if it is new and may be; raises `OSError` when it cannot be kept.

        It may be repeated at will, because the second time the line is known.
        """
        # No name has a line break, so that no two pairs look the same.
        pair = f"{sender}\n{key}"
        arguments = [sender, text, key, pair, origin, int(is_new_allowed), KEPT_LINES, self._channel, room]
        try:
            return await self._take(keys=[self._lines(room), f"{self._prefix}:keys:{room}"], args=arguments)
        except ResponseError as error:
            raise OSError(errno.EIO, str(error)) from None

    async def last(self, room: str) -> int:
        """The number of the room's last line."""
        entries = await self._redis.xrevrange(self._lines(room), count=1)
        return _number(entries[0][0]) if entries else 0

    async def between(self, room: str, seen: int, last: int | None = None) -> list[tuple[Line, str]]:
        """The kept lines after one and up to another, each with the connection it was said over."""
        end = "+" if last is None else f"{last}-0"
        # A larger number than this is not the id of an entry.
        if seen >= 2**63:
            return []
        entries = await self._redis.xrange(self._lines(room), f"{seen + 1}-0", end)
        return [(_line(room, id, fields), fields["origin"]) for id, fields in entries]

    def _lines(self, room: str) -> str:
        return f"{self._prefix}:lines:{room}"


def _number(id: str) -> int:
    return int(id.partition("-")[0])


def _line(room: str, id: str, fields: dict[str, Any]) -> Line:
    return {"room": room, "from": fields["from"], "text": fields["text"], "id": fields["id"], "seq": _number(id)}
