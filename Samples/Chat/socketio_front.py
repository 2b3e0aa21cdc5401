"""The way to the chat over Socket.IO, on the namespace `/`."""

from __future__ import annotations

import asyncio

import socketio

from chat_hub import ChatError, Hub, Member, Payload


class SocketIOFront:
    """Brings people to the hub.

    With a `manager`, hints go through Socket.IO's own rooms, which several servers have in common, see `Hints`. All the
    rest goes to each connection by itself, because it has an order, which a broadcast among servers has not.
    """

    def __init__(
        self,
        hub: Hub,
        ping_interval: float,
        ping_timeout: float,
        allowed_origins: list[str],
        manager: socketio.AsyncRedisManager | None = None,
    ) -> None:
        self._hub = hub
        self._members: dict[str, tuple[Member, asyncio.Task[None]]] = {}
        self._is_hinted = manager is None
        # Handlers must not run as tasks of their own: a client's events would overtake each other.
        self.server = socketio.AsyncServer(
            async_mode="aiohttp",
            async_handlers=False,
            # An empty list would allow all.
            cors_allowed_origins=lambda origin, _: origin in allowed_origins,
            ping_interval=ping_interval,
            ping_timeout=ping_timeout,
            client_manager=manager,
        )
        self.server.on("connect", self._connect)
        self.server.on("disconnect", self._disconnect)
        self.server.on("*", self._event)

    async def _connect(self, sid: str, environ: Payload, auth: object = None) -> bool:
        outbox: asyncio.Queue[tuple[str, Payload]] = asyncio.Queue()
        try:
            member = await self._hub.admit(
                auth, lambda event, payload: outbox.put_nowait((event, payload)), sid, self._is_hinted
            )
        except ChatError as error:
            raise socketio.exceptions.ConnectionRefusedError(error.message, {"code": error.code}) from None
        # Of a connection that was lost meanwhile, python-socketio says nothing.
        if self.server.get_environ(sid) is None:
            await self._hub.depart(member)
            return False
        self._members[sid] = (member, asyncio.create_task(self._write(sid, outbox)))
        await self._follow_rooms(sid, set(), member.rooms)
        return True

    async def _disconnect(self, sid: str, reason: str) -> None:
        if sid in self._members:
            member, writer = self._members.pop(sid)
            writer.cancel()
            await self._hub.depart(member)

    async def _event(self, event: object, sid: str, *args: object) -> Payload:
        member, _ = self._members[sid]
        before = set(member.rooms)
        answer = await self._hub.handle(member, event, args)
        await self._follow_rooms(sid, before, member.rooms)
        return answer

    async def _follow_rooms(self, sid: str, before: set[str], after: set[str]) -> None:
        """Keeps Socket.IO's rooms like the chat's."""
        for room in after - before:
            await self.server.enter_room(sid, _shared_room(room))
        for room in before - after:
            await self.server.leave_room(sid, _shared_room(room))

    async def _write(self, sid: str, outbox: asyncio.Queue[tuple[str, Payload]]) -> None:
        while True:
            event, payload = await outbox.get()
            # It is for one connection of this server: no other server has to be told.
            await self.server.emit(event, payload, to=sid, ignore_queue=True)


class Hints:
    """What may be lost, on its way to everybody on Socket.IO in a room, whatever server they are connected to."""

    def __init__(self, manager: socketio.AsyncRedisManager) -> None:
        self._manager = manager

    async def send(self, room: str, event: str, payload: Payload, sender: Member) -> None:
        """Sends a hint to all but its sender."""
        await self._manager.emit(event, payload, namespace="/", room=_shared_room(room), skip_sid=sender.id)


def _shared_room(room: str) -> str:
    # Each connection has a room of the name of its id, too.
    return f"room {room}"
