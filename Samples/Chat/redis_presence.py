"""Who is in which room, in Redis: counted over all servers, and freed of those that have died."""

from __future__ import annotations

import secrets
from typing import Any

from redis.asyncio import Redis

# A server that was not heard of for so long is dead, and the people it brought are gone.
LEASE_SECONDS = 5.0
RENEWAL_SECONDS = 1.0

# A room's people are a hash: "server connection" → name. Each server has a lease, its end being the score in a sorted
# set, and a set of the rooms where it has people. Each script may be repeated at will: the second time it changes and
# says nothing.
ENTER = """
if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then return 0 end
local place = ARGV[1] .. ' ' .. ARGV[2]
if redis.call('HEXISTS', KEYS[1], place) == 1 then return 1 end
local is_there = false
for _, name in ipairs(redis.call('HVALS', KEYS[1])) do is_there = is_there or name == ARGV[3] end
redis.call('HSET', KEYS[1], place, ARGV[3])
redis.call('SADD', KEYS[2], ARGV[4])
if not is_there then
    redis.call('PUBLISH', ARGV[5],
        cjson.encode({event = 'joined', room = ARGV[4], name = ARGV[3], origin = ARGV[2]}))
end
return 1
"""

LEAVE = """
local place = ARGV[1] .. ' ' .. ARGV[2]
if redis.call('HDEL', KEYS[1], place) == 0 then return end
local is_there, is_served = false, false
local people = redis.call('HGETALL', KEYS[1])
for i = 1, #people, 2 do
    is_there = is_there or people[i + 1] == ARGV[3]
    is_served = is_served or string.sub(people[i], 1, #ARGV[1] + 1) == ARGV[1] .. ' '
end
if not is_served then redis.call('SREM', KEYS[2], ARGV[4]) end
if not is_there then
    redis.call('PUBLISH', ARGV[5], cjson.encode({event = 'left', room = ARGV[4], name = ARGV[3], origin = ARGV[2]}))
end
"""

# Renews the lease of a server, or ends it if it is 0 milliseconds, and takes out who was brought by servers without one.
RENEW = """
local prefix, server, lease, channel = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local servers = prefix .. ':servers'
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local was_there = redis.call('ZSCORE', servers, server)
redis.call('ZADD', servers, string.format('%.0f', now + lease), server)
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', servers, '-inf', string.format('%.0f', now))) do
    local rooms = prefix .. ':rooms:' .. dead
    for _, room in ipairs(redis.call('SMEMBERS', rooms)) do
        local key = prefix .. ':people:' .. room
        local gone, present = {}, {}
        local people = redis.call('HGETALL', key)
        for i = 1, #people, 2 do
            if string.sub(people[i], 1, #dead + 1) == dead .. ' ' then
                redis.call('HDEL', key, people[i])
                gone[people[i + 1]] = true
            else
                present[people[i + 1]] = true
            end
        end
        for name in pairs(gone) do
            if not present[name] then
                redis.call('PUBLISH', channel, cjson.encode({event = 'left', room = room, name = name, origin = ''}))
            end
        end
    end
    redis.call('DEL', rooms)
    redis.call('ZREM', servers, dead)
end
return was_there and 1 or 0
"""


class RedisPresence:
    """The people of this server, and of all others."""

    def __init__(self, redis: Redis, prefix: str, channel: str) -> None:
        self._redis = redis
        self._prefix = prefix
        self._channel = channel
        self._server = secrets.token_hex(10)
        self._own: dict[tuple[str, str], str] = {}
        self._enter = redis.register_script(ENTER)
        self._leave = redis.register_script(LEAVE)
        self._renew = redis.register_script(RENEW)

    async def enter(self, room: str, connection: str, name: str) -> None:
        """Adds somebody who is connected to this server."""
        self._own[(room, connection)] = name
        if not await self._enter(**self._call(room, connection, name)):
            await self.renew()

    async def leave(self, room: str, connection: str, name: str) -> None:
        """Takes somebody out."""
        self._own.pop((room, connection), None)
        await self._leave(**self._call(room, connection, name))

    async def names(self, room: str) -> list[str]:
        """Who is in the room, whatever server brought them."""
        return sorted(set(await self._redis.hvals(self._people(room))))

    async def renew(self) -> None:
        """Tells that this server lives, and cleans up after those that do not."""
        if await self._tend(LEASE_SECONDS):
            return
        # The lease had run out, for instance because the process was stopped: everybody was taken out.
        for (room, connection), name in list(self._own.items()):
            await self._enter(**self._call(room, connection, name))
            if (room, connection) not in self._own:
                await self._leave(**self._call(room, connection, name))

    async def end(self) -> None:
        """Takes out everybody who is still connected to this server."""
        self._own.clear()
        await self._tend(0)

    async def _tend(self, lease: float) -> bool:
        return bool(await self._renew(args=[self._prefix, self._server, int(lease * 1000), self._channel]))

    def _people(self, room: str) -> str:
        return f"{self._prefix}:people:{room}"

    def _call(self, room: str, connection: str, name: str) -> dict[str, list[Any]]:
        keys = [self._people(room), f"{self._prefix}:rooms:{self._server}", f"{self._prefix}:servers"]
        return {"keys": keys, "args": [self._server, connection, name, room, self._channel]}
