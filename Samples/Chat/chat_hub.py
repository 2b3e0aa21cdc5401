"""The chat itself: permissions, rooms and events. Nothing in here knows a network."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from chat_history import Line

NAME_LIMIT = 64
TEXT_LIMIT = 8_192
KEY_LIMIT = 128
TOPIC_LIMIT = 256

Payload = dict[str, Any]


class ChatError(Exception):
    """A request, or a person, that the chat refuses."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(eq=False)
class Member:
    """One connection of one person. `deliver` must neither wait nor reorder."""

    name: str
    deliver: Callable[[str, Payload], None]
    # Unlike that of any other connection, to any server.
    id: str
    # Whether hints come by `deliver`; else what carries the connection brings them.
    is_hinted: bool
    rooms: set[str] = field(default_factory=set)
    # What one connection asks for is done strictly one after the other.
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_gone: bool = False


class Audience(Protocol):
    """The people who are connected to this process, as a backplane sees them."""

    def hear_line(self, line: Line, origin: str) -> None:
        """A line was said over the connection `origin`."""

    def hear_notice(self, room: str, event: str, payload: Payload, origin: str) -> None:
        """Something else happened, because of the connection `origin`."""

    def hear_hint(self, room: str, event: str, payload: Payload, origin: str) -> None:
        """The same for something that may be lost, which members who are not hinted hear by another way."""

    def hear_direct(self, message: Payload) -> None:
        """A message came for one person, with all their connections."""

    def hear_gap(self, room: str, lost: int | None, seq: int) -> None:
        """Lines cannot be had any more, so that the next one comes after `seq`."""


class Backplane(Protocol):
    """What is behind the hub, and behind every hub of one chat alike: lines, their order, and who is where.

    It tells its audience of each line of each room where somebody of the audience is: in order, each one once.
    """

    @property
    def numbering(self) -> str:
        """What tells the numbers of the lines from those of another history."""

    def attach(self, audience: Audience) -> None:
        """Whom to tell; called once, before anything else."""

    async def take(self, room: str, member: Member, text: str, key: str) -> int | None:
        """Numbers a line, keeps it and sends it to everybody; a known one is only looked up.

        Returns the number, or None for a new line of somebody who is not in the room. All lines up to that number
        have been heard by then. Raises `OSError`, and keeps nothing, when the line cannot be kept.
        """

    async def enter(self, room: str, member: Member, seen: int | None, welcome: Callable[[int, list[Line]], None]) -> None:
        """Lets a member in, and tells the others unless they know the person is there.

        Calls `welcome` with the number of the room's last line and the kept lines after `seen`: all of them when that
        is no number of this room, for which -1 stands. The audience hears the lines that follow from then on.
        """

    async def leave(self, room: str, member: Member) -> None:
        """Lets a member out, and tells the others unless the person is still there."""

    async def names(self, room: str) -> list[str]:
        """Who is in the room, sorted, each name once."""

    async def last(self, room: str) -> int:
        """The number of the last line that was heard in a room where somebody of the audience is."""

    async def hint(self, room: str, event: str, payload: Payload, member: Member) -> None:
        """Tells the others something that may be lost."""

    async def topic(self, room: str) -> str:
        """What the room is about; empty when nobody has said so."""

    async def set_topic(self, room: str, topic: str, member: Member) -> None:
        """Gives the room a topic, and tells the others."""

    async def send_direct(self, message: Payload) -> None:
        """Sends a message for one person to every audience."""


class Hub:
    """The people of this process, their rooms, and what they may do in them."""

    def __init__(self, backplane: Backplane, refuse: bool = False) -> None:
        self._backplane = backplane
        self._refuse = refuse
        self._rooms: dict[str, set[Member]] = {}
        backplane.attach(self)

    async def admit(
        self, auth: object, deliver: Callable[[str, Payload], None], id: str, is_hinted: bool = True
    ) -> Member:
        """Lets a person in and joins the rooms they ask for; raises `ChatError` to refuse them."""
        if self._refuse:
            raise ChatError("closed", "the chat is closed")
        credentials = auth if isinstance(auth, dict) else {}
        member = Member(_label(credentials.get("name"), "bad_name", "name"), deliver, id, is_hinted)
        rooms = credentials.get("rooms", [])
        if not isinstance(rooms, list):
            raise ChatError("bad_request", "rooms must be a list")
        seen = credentials.get("seen", {})
        if not isinstance(seen, dict) or not all(map(is_count, seen.values())):
            raise ChatError("bad_request", "seen must be an object of whole numbers")
        numbering = credentials.get("numbering")
        numbering = numbering if isinstance(numbering, dict) else {}
        rooms = [_label(room, "bad_room", "room") for room in rooms]
        try:
            for room in rooms:
                await self._join(member, room, seen.get(room), numbering.get(room))
        except BaseException:
            await self.depart(member)
            raise
        return member

    async def depart(self, member: Member) -> None:
        """Takes a lost connection out of all its rooms."""
        async with member.turn:
            member.is_gone = True
            for room in list(member.rooms):
                await self._leave(member, room)

    async def handle(self, member: Member, event: object, args: Sequence[object]) -> Payload:
        """Does what one event asks for and returns its acknowledgement."""
        try:
            if len(args) != 1 or not isinstance(args[0], dict):
                raise ChatError("bad_request", "the payload must be one object")
            async with member.turn:
                return {"ok": True, **await self._perform(member, event, args[0])}
        except ChatError as error:
            return {"ok": False, "error": {"code": error.code, "message": error.message}}

    def hear_line(self, line: Line, origin: str) -> None:
        self.hear_notice(line["room"], "message", line, origin)

    def hear_notice(self, room: str, event: str, payload: Payload, origin: str) -> None:
        for member in self._rooms.get(room, ()):
            if member.id != origin:
                member.deliver(event, payload)

    def hear_hint(self, room: str, event: str, payload: Payload, origin: str) -> None:
        for member in self._rooms.get(room, ()):
            if member.id != origin and member.is_hinted:
                member.deliver(event, payload)

    def hear_direct(self, message: Payload) -> None:
        members = {member for room in self._rooms.values() for member in room if member.name == message["to"]}
        for member in members:
            member.deliver("msg", message)

    def hear_gap(self, room: str, lost: int | None, seq: int) -> None:
        for member in self._rooms.get(room, ()):
            member.deliver("gap", {"room": room, "lines": lost})
            member.deliver("room", {"room": room, "seq": seq, "numbering": self._backplane.numbering})

    async def _perform(self, member: Member, event: object, payload: Payload) -> Payload:
        if event == "msg":
            await self._message(member, payload)
            return {}
        room = payload.get("room")
        if not isinstance(room, str):
            raise ChatError("bad_request", "room must be a string")
        _label(room, "bad_room", "room")
        match event:
            case "join":
                seen = payload.get("seen")
                if seen is not None and not is_count(seen):
                    raise ChatError("bad_request", "seen must be a whole number")
                await self._join(member, room, seen, payload.get("numbering"))
                _require_member(member, room)
                return {"members": await self._backplane.names(room), "seq": await self._backplane.last(room)}
            case "say":
                return {"seq": await self._say(member, room, payload.get("text"), payload.get("id"))}
            case "who":
                _require_member(member, room)
                return {"members": await self._backplane.names(room)}
            case "typing":
                _require_member(member, room)
                await self._backplane.hint(room, "typing", {"room": room, "name": member.name}, member)
            case "topic":
                _require_member(member, room)
                await self._backplane.set_topic(room, _topic(payload.get("topic")), member)
            case "leave":
                _require_member(member, room)
                await self._leave(member, room)
            case _:
                raise ChatError("bad_request", "no such event")
        return {}

    async def _message(self, member: Member, payload: Payload) -> None:
        to = _label(payload.get("to"), "bad_name", "name")
        text, key = _line(payload.get("text"), payload.get("id"))
        # Somebody in no room with the sender is not to be found out.
        for room in member.rooms:
            if to in await self._backplane.names(room):
                break
        else:
            raise ChatError("no_such_person", "nobody of that name is in a room with you")
        await self._backplane.send_direct({"from": member.name, "to": to, "text": text, "id": key})

    async def _say(self, member: Member, room: str, text: object, key: object) -> int:
        text, key = _line(text, key)
        try:
            seq = await self._backplane.take(room, member, text, key)
        except OSError as error:
            raise ChatError("not_kept", f"the line could not be kept: {error.strerror}") from None
        # A retry may follow a reconnect, so that a line already taken is confirmed whatever became of the membership.
        if seq is None:
            raise ChatError("not_in_room", "join the room first")
        return seq

    async def _join(self, member: Member, room: str, seen: int | None, numbering: object) -> None:
        if room in member.rooms or member.is_gone:
            return
        if seen is not None and numbering not in (None, self._backplane.numbering):
            # A position of another numbering is none.
            seen = -1

        def welcome(last: int, lines: list[Line]) -> None:
            _catch_up(member, room, seen, last, lines, self._backplane.numbering)
            member.rooms.add(room)
            self._rooms.setdefault(room, set()).add(member)

        await self._backplane.enter(room, member, seen, welcome)
        if topic := await self._backplane.topic(room):
            member.deliver("topic", {"room": room, "topic": topic})

    async def _leave(self, member: Member, room: str) -> None:
        member.rooms.discard(room)
        members = self._rooms[room]
        members.discard(member)
        if not members:
            del self._rooms[room]
        await self._backplane.leave(room, member)


def _catch_up(
    member: Member, room: str, seen: int | None, last: int, lines: list[Line], numbering: str
) -> None:
    """Tells a member who enters where the room stands, and what was said since they last looked."""
    if seen is not None:
        lost = last - len(lines) - seen if 0 <= seen <= last else None
        if lost != 0:
            member.deliver("gap", {"room": room, "lines": lost})
    member.deliver("room", {"room": room, "seq": last - len(lines), "numbering": numbering})
    for line in lines:
        member.deliver("message", line)


def _label(value: object, code: str, what: str) -> str:
    """The name of a person or a room, when it is one."""
    if not isinstance(value, str) or not value.strip() or len(value) > NAME_LIMIT:
        raise ChatError(code, f"a {what} must have 1 to {NAME_LIMIT} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise ChatError(code, f"a {what} must not have control characters")
    return value


def _line(text: object, key: object) -> tuple[str, str]:
    """What is said and its key, when they can be."""
    if not isinstance(text, str) or not isinstance(key, str):
        raise ChatError("bad_request", "text and id must be strings")
    if not 0 < len(key) <= KEY_LIMIT or not _is_unicode(key):
        raise ChatError("bad_request", f"id must have 1 to {KEY_LIMIT} characters")
    if not 0 < len(text) <= TEXT_LIMIT or not _is_unicode(text):
        raise ChatError("bad_text", f"text must have 1 to {TEXT_LIMIT} characters")
    return text, key


def _topic(value: object) -> str:
    """What a room is about, when it can be that."""
    if not isinstance(value, str):
        raise ChatError("bad_request", "topic must be a string")
    if len(value) > TOPIC_LIMIT or any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise ChatError("bad_text", f"a topic must have at most {TOPIC_LIMIT} characters and no control characters")
    return value


def _is_unicode(text: str) -> bool:
    """Whether others can read the text: JSON can spell half a surrogate pair, UTF-8 cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _require_member(member: Member, room: str) -> None:
    if room not in member.rooms:
        raise ChatError("not_in_room", "join the room first")


def is_count(value: object) -> bool:
    """Whether it is a whole number from 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
