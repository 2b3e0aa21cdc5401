"""What a hostile server has of a client: a connection, and enough of HTTP, WebSocket and Engine.IO to let it in."""
from __future__ import annotations

import asyncio
import base64
import hashlib
import struct

MIB = 1 << 20
OPEN = '0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}'
PLACEHOLDER = '{"_placeholder":true,"num":0}'


def frame(first: int, payload: bytes = b"", length: int | None = None) -> bytes:
    """A frame, which may declare another length than it has."""
    size = len(payload) if length is None else length
    if size < 126:
        return bytes([first, size]) + payload
    if size < 1 << 16:
        return bytes([first, 126]) + struct.pack(">H", size) + payload
    return bytes([first, 127]) + struct.pack(">Q", size) + payload


class Session:
    """What is known of one Engine.IO session over polling."""

    last = 0

    def __init__(self) -> None:
        Session.last += 1
        self.sid = f"s{Session.last}"
        self.polls = 0
        self.upgraded = asyncio.Event()


class Client:
    """One connection to a client."""

    said_limits: set[str] = set()
    sessions: dict[str, Session] = {}
    cookie: str | None = None

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.method = ""
        self.path = ""
        self.query: dict[str, str] = {}
        self.headers: dict[str, str] = {}

    async def request(self) -> None:
        """Reads the request."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        self.method, target, _ = first.split(" ")
        self.path, _, query = target.partition("?")
        self.query = dict(item.partition("=")[::2] for item in query.split("&"))
        self.headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines) if k}

    @property
    def is_engine(self) -> bool:
        return self.path.startswith("/socket.io/")

    @property
    def is_polling(self) -> bool:
        return self.query.get("transport") == "polling"

    @property
    def session(self) -> Session | None:
        """The session that the request is of; None before there is one."""
        return Client.sessions.get(self.query.get("sid", ""))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
        # A drain that need not wait would let nobody else have a turn.
        await asyncio.sleep(0)

    async def text(self, text: str) -> None:
        await self.send(frame(0x81, text.encode()))

    async def switch(self, extra: bytes = b"") -> None:
        """Answers 101; `extra` are more header lines."""
        digest = hashlib.sha1((self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
        accept = base64.b64encode(digest.digest())
        protocol = b""
        if "linkspan.json" in self.headers.get("sec-websocket-protocol", ""):
            protocol = b"Sec-WebSocket-Protocol: linkspan.json\r\n"
        await self.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + b"Sec-WebSocket-Accept: " + accept + b"\r\n" + protocol + extra + b"\r\n")

    async def welcome(self) -> None:
        """Lets the client in, up to where it believes to be connected."""
        await self.switch()
        if self.is_engine and self.session:
            # An upgrade: the client is connected already.
            await self.next_frame()
            await self.text("3probe")
            self.session.upgraded.set()
            await self.next_frame()
        elif self.is_engine:
            await self.text(OPEN)
            await self.next_frame()
            await self.text('40{"sid":"x"}')

    async def next_frame(self) -> bytes:
        """A frame of the client's, unmasked."""
        head = await self.reader.readexactly(2)
        size = head[1] & 127
        if size == 126:
            size = struct.unpack(">H", await self.reader.readexactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", await self.reader.readexactly(8))[0]
        mask = await self.reader.readexactly(4)
        return bytes(byte ^ mask[index % 4] for index, byte in enumerate(await self.reader.readexactly(size)))

    def limit(self) -> None:
        """Says, once, that now the client has reason to go."""
        if not Client.said_limits:
            print("limit", flush=True)
        if self.path not in Client.said_limits:
            Client.said_limits.add(self.path)
            print(f"limit {self.path}", flush=True)

    async def gone(self) -> None:
        """Waits until the client is gone, reading what it says."""
        while await self.reader.read(1 << 16):
            pass

    def event(self, arguments: str, count: int = 0) -> str:
        """An event with so many attachments announced, in the words of the protocol."""
        if self.is_engine:
            return f"45{count}-[{arguments}]" if count else f"42[{arguments}]"
        name, _, rest = arguments.partition(",")
        return f'{{"event":{name},"data":[{rest}],"attachments":{count}}}'
