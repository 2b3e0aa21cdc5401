"""What is behind the hub of a server that serves its chat alone."""

from __future__ import annotations

from collections.abc import Callable

from chat_history import History, Line
from chat_hub import Audience, Member, Payload


class LocalBackplane:
    """Lines in a `History`, people in memory.

    Nothing in here waits, so each request is complete before the next one starts. That is what gives every
    receiver the same order.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._people: dict[str, dict[str, str]] = {}
        self._topics: dict[str, str] = {}
        self._audience: Audience

    def attach(self, audience: Audience) -> None:
        self._audience = audience

    @property
    def numbering(self) -> str:
        return self._history.numbering

    async def take(self, room: str, member: Member, text: str, key: str) -> int | None:
        if (taken := self._history.room(room).number(member.name, key)) is not None:
            return taken
        if room not in member.rooms:
            return None
        line = self._history.append(room, member.name, text, key)
        self._audience.hear_line(line, member.id)
        return line["seq"]

    async def enter(self, room: str, member: Member, seen: int | None, welcome: Callable[[int, list[Line]], None]) -> None:
        people = self._people.setdefault(room, {})
        # A person who reconnects before the old connection is missed never left, as the others see it.
        if member.name not in people.values():
            self._audience.hear_notice(room, "joined", {"room": room, "name": member.name}, member.id)
        people[member.id] = member.name
        lines = self._history.room(room)
        welcome(lines.last, [] if seen is None else lines.after(seen if seen <= lines.last else -1))

    async def leave(self, room: str, member: Member) -> None:
        people = self._people[room]
        del people[member.id]
        if not people:
            del self._people[room]
            # A room that nobody has ever spoken in is gone.
            if self._history.room(room).last == 0:
                self._topics.pop(room, None)
        elif member.name not in people.values():
            self._audience.hear_notice(room, "left", {"room": room, "name": member.name}, member.id)

    async def names(self, room: str) -> list[str]:
        return sorted(set(self._people.get(room, {}).values()))

    async def last(self, room: str) -> int:
        return self._history.room(room).last

    async def topic(self, room: str) -> str:
        return self._topics.get(room, "")

    async def set_topic(self, room: str, topic: str, member: Member) -> None:
        self._topics[room] = topic
        payload = {"room": room, "topic": topic, "name": member.name}
        self._audience.hear_notice(room, "topic", payload, member.id)

    async def send_direct(self, message: Payload) -> None:
        self._audience.hear_direct(message)

    async def hint(self, room: str, event: str, payload: Payload, member: Member) -> None:
        self._audience.hear_notice(room, event, payload, member.id)
