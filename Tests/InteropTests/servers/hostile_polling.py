"""Attacks of a server over HTTP long polling, and by the WebSocket that a polling session tries to change to."""
from __future__ import annotations

import asyncio
import base64
import gzip

from hostile_client import MIB, OPEN, PLACEHOLDER, Client, Session, frame

SEPARATOR = "\x1e"
# The shortest heartbeat that is believed.
HASTY = OPEN.replace("25000", "1000").replace("20000", "1000")
CONNECTED = '40{"sid":"x"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=UTF-8\r\n"


async def answer(client: Client, body: str | bytes, extra: str = "", status: str = "200 OK") -> None:
    """Answers a request properly."""
    data = body.encode() if isinstance(body, str) else body
    if Client.cookie:
        extra += f"Set-Cookie: {Client.cookie}\r\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=UTF-8\r\n{extra}Content-Length: {len(data)}\r\n\r\n"
    await client.send(head.encode() + data)
    client.writer.close()
    await client.writer.wait_closed()


async def begin(client: Client, packet: str = OPEN, upgrades: str = "") -> None:
    """Answers the handshake."""
    session = Session()
    Client.sessions[session.sid] = session
    packet = packet.replace('"sid":"x"', f'"sid":"{session.sid}"').replace('"upgrades":[]', f'"upgrades":[{upgrades}]')
    await answer(client, packet)


async def body(client: Client) -> bytes:
    """The body of a POST."""
    return await client.reader.readexactly(int(client.headers.get("content-length", "0")))


async def welcomed(client: Client, packet: str = OPEN, upgrades: str = "") -> bool:
    """Whether the client is connected and polls; otherwise the request has been answered, and brings that about."""
    if client.method == "POST":
        await body(client)
        await answer(client, "ok")
    elif client.session is None:
        await begin(client, packet, upgrades)
    else:
        client.session.polls += 1
        if client.session.polls > 1:
            return True
        await answer(client, CONNECTED)
    return False


async def serve_poll(client: Client) -> None:
    """Serves a session that wants to change to a WebSocket, with a heartbeat faster than need be."""
    if not await welcomed(client, upgrades='"websocket"'):
        return
    try:
        await asyncio.wait_for(client.session.upgraded.wait(), 0.2)
        await answer(client, "6")
    except TimeoutError:
        await answer(client, "2")


async def poll_header_flood(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await client.send(HEAD)
        while True:
            await client.send(b"X-Flood: " + b"x" * 100 + b"\r\n")


async def poll_huge_length(client: Client) -> None:
    if await welcomed(client):
        await client.send(HEAD + f"Content-Length: {1 << 62}\r\n\r\n".encode())
        client.limit()
        while True:
            await client.send(b"x" * (1 << 16))


async def poll_absurd_length(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await client.send(HEAD + b"Content-Length: -99999999999999999999999\r\n\r\n")
        while True:
            await client.send(b"x" * (1 << 16))


async def poll_endless_chunks(client: Client) -> None:
    if await welcomed(client):
        await client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for number in range(64):
            if number == 15:
                client.limit()
            await client.send(b"100000\r\n" + b"x" * MIB + b"\r\n")
        await client.gone()


async def poll_endless_body(client: Client) -> None:
    if await welcomed(client):
        await client.send(HEAD + b"\r\n")
        for number in range(64):
            if number == 15:
                client.limit()
            await client.send(b"x" * MIB)
        await client.gone()


async def poll_small_chunks(client: Client) -> None:
    if await welcomed(client, HASTY):
        client.limit()
        await client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            # Not a byte each: on a busy machine a debug build might not read 64 KiB of them before its deadline.
            await client.send(b"8\r\n44444444\r\n" * 10_000)


async def poll_dripped_head(client: Client) -> None:
    client.limit()
    await client.send(b"HTTP/1.1 200 ")
    while True:
        await client.send(b"O")
        await asyncio.sleep(0.1)


async def poll_dripped_body(client: Client) -> None:
    client.limit()
    await client.send(HEAD + b"Content-Length: 100000\r\n\r\n0")
    while True:
        await client.send(b"{")
        await asyncio.sleep(0.02)


async def poll_empty_answers(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, "")


async def poll_noops(client: Client) -> None:
    """Too many with the second answer of a second, which a busy machine manages too."""
    if await welcomed(client):
        client.limit()
        await answer(client, SEPARATOR.join(["6"] * 40))


async def poll_pings(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, SEPARATOR.join(["2"] * 40))


async def poll_many_noops(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, SEPARATOR.join(["6"] * 100_000))


async def poll_separators(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, SEPARATOR * (22 * MIB))


async def poll_many_events(client: Client) -> None:
    """Ten million bytes of events that nobody wants, again and again: a bore, and no violation."""
    if await welcomed(client):
        client.limit()
        await answer(client, SEPARATOR.join(['42/o,["x"]'] * 1_000_000))
        await asyncio.sleep(0.1)


async def poll_large_answers(client: Client) -> None:
    """Forty million bytes of large events that nobody wants in one answer, again and again: no violation."""
    if await welcomed(client):
        client.limit()
        await answer(client, SEPARATOR.join(['42/o,["x","' + "x" * 1_000_000 + '"]'] * 40))
        await asyncio.sleep(0.2)


async def poll_small_events(client: Client) -> None:
    """The same with events that are wanted, at a moderate rate."""
    if await welcomed(client):
        client.limit()
        await answer(client, SEPARATOR.join(['42["x"]'] * 10_000))
        await asyncio.sleep(0.2)


def attachment(data: bytes) -> str:
    return "b" + base64.b64encode(data).decode()


async def poll_many_attachments(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, client.event(f'"bomb",{PLACEHOLDER}', 1_000_000) + (SEPARATOR + attachment(b"x" * 1000)) * 1000)


async def poll_zero_attachments(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, '450-["bomb"]' + (SEPARATOR + attachment(b"x" * 1000)) * 1000)


async def poll_large_attachments(client: Client) -> None:
    if await welcomed(client):
        polls = client.session.polls
        parts = [client.event(f'"bomb",{PLACEHOLDER}', 10)] if polls == 2 else []
        bomb = SEPARATOR.join(parts + [attachment(b"x" * (2 * MIB))] * 3)
        if polls == 4:
            client.limit()
        await answer(client, bomb)


async def poll_kept_bodies(client: Client) -> None:
    """Attachments of a byte each, in bodies full of what nobody wants: they must not be kept for the bytes."""
    if await welcomed(client):
        client.limit()
        # Ten, and again; pongs may come between the attachments of one event.
        parts = [client.event(f'"bomb",{PLACEHOLDER}', 10)] if client.session.polls % 10 == 2 else []
        await answer(client, SEPARATOR.join([*parts, attachment(b"x"), "3" + "x" * (15 * MIB)]))


async def poll_deep_json(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, client.event('"bomb",' + "[" * 100_000 + "]" * 100_000))


async def poll_text_for_binary(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, client.event(f'"bomb",{PLACEHOLDER}', 1) + SEPARATOR + client.event('"more"'))


async def poll_unanswered_connect(client: Client) -> None:
    if client.session is None:
        await begin(client)
    elif client.method == "POST":
        await body(client)
        await answer(client, "ok")
    else:
        client.limit()
        # The heartbeat goes on, so that nothing but the missing answer is wrong.
        await asyncio.sleep(0.2)
        await answer(client, "2")


async def poll_unanswered_post(client: Client) -> None:
    if client.session is None:
        await begin(client)
    elif client.method == "POST":
        client.limit()
        await client.gone()
    else:
        await asyncio.sleep(0.2)
        await answer(client, "2")


async def poll_failing_post(client: Client) -> None:
    if client.method == "POST":
        await body(client)
        client.limit()
        await answer(client, "x" * 1000, status="500 Internal Server Error")
    elif await welcomed(client):
        await client.gone()


async def poll_unread_post(client: Client) -> None:
    """Answers before it has been asked, and hears nothing of it."""
    if client.method == "POST":
        client.limit()
        await answer(client, "no", status="400 Bad Request")
    elif await welcomed(client):
        await client.gone()


async def poll_absurd_numbers(client: Client) -> None:
    if await welcomed(
            client, OPEN.replace("25000", "-1e400").replace("20000", "-9223372036854775809").replace("1000000", "1e400")):
        client.limit()
        await client.gone()


async def poll_hostile_sid(client: Client) -> None:
    client.limit()
    if client.query.get("sid") is not None:
        print("stolen", flush=True)
    await answer(client, OPEN.replace('"x"', '"x\\r\\nX-Injected: 1\\u0000&transport=x"'))


async def poll_redirect(client: Client) -> None:
    client.limit()
    await redirect(client, "302 Found")


async def poll_later_redirect(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await redirect(client, "301 Moved Permanently")


async def poll_post_redirect(client: Client) -> None:
    if client.method == "POST":
        await body(client)
        client.limit()
        await redirect(client, "307 Temporary Redirect")
    elif await welcomed(client):
        await client.gone()


async def redirect(client: Client, status: str) -> None:
    port = client.writer.get_extra_info("sockname")[1]
    scheme = "https" if client.writer.get_extra_info("sslcontext") else "http"
    await answer(client, "", f"Location: {scheme}://localhost:{port}/stolen\r\n", status)


async def poll_cookie_flood(client: Client) -> None:
    """Cookies, as many as go into a head, other ones each time."""
    if len(client.headers.get("cookie", "")) > 8192:
        print("stolen", flush=True)
    if await welcomed(client):
        client.limit()
        number = client.session.polls
        cookies = "".join(f"Set-Cookie: c{number}-{index}={'x' * 3800}\r\n" for index in range(4))
        await asyncio.sleep(0.02)
        await answer(client, "42[\"x\"]", cookies)


async def poll_hostile_cookies(client: Client) -> None:
    """Cookies that would write headers, if they were believed."""
    if any(character < " " for character in client.headers.get("cookie", "")):
        print("stolen", flush=True)
    if await welcomed(client):
        client.limit()
        cookies = "".join(
            f"Set-Cookie: {cookie}\r\n" for cookie in (
                "a=\x01", "b=c\rX-Injected: 1", "c=d\x0bX-Injected: 1", "=x", "e", "f=g; Path=\x00", ";;;;", "", "h=" + "\x7f" * 100,
                "i=j; Max-Age=99999999999999999999999", "k=l; Path=/socket.io" + "/" * 1000, "m=\xff\xfe"))
        await asyncio.sleep(0.02)
        await answer(client, "42[\"x\"]", cookies)


async def poll_gzip(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, gzip.compress(b"6" * (8 * MIB)), "Content-Encoding: gzip\r\n")


async def poll_unknown_coding(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await client.send(HEAD + b"Transfer-Encoding: gzip, x-nonsense\r\n\r\n")
        coded = gzip.compress(b"6" * MIB) + SEPARATOR.encode()
        while True:
            await client.send(coded)


async def poll_not_utf8(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await answer(client, b'42["\xff\xfe"]')


async def poll_chunk_nonsense(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1zz;\r\n\r\n\r\n")
        while True:
            await client.send(b"\x00\xffzz\r\n" * 1000)


async def poll_huge_chunk(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"F" * 40 + b"\r\n")
        while True:
            await client.send(b"x" * (1 << 16))


async def poll_chunk_extensions(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1")
        while True:
            await client.send(b";x=" + b"y" * 10_000)


async def poll_trailers(client: Client) -> None:
    if await welcomed(client):
        client.limit()
        await client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n6\r\n0\r\n")
        while True:
            await client.send(b"X-Flood: " + b"x" * 10_000 + b"\r\n")


async def poll_continue(client: Client) -> None:
    """Interim answers without end."""
    if await welcomed(client):
        client.limit()
        while True:
            await client.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


async def candidate_silent(client: Client) -> None:
    client.limit()
    await client.gone()


async def candidate_refused(client: Client) -> None:
    client.limit()
    await answer(client, "x" * MIB, status="400 Bad Request")


async def candidate_redirected(client: Client) -> None:
    client.limit()
    await redirect(client, "302 Found")


async def candidate_hung_up(client: Client) -> None:
    client.limit()


async def candidate_header_flood(client: Client) -> None:
    client.limit()
    await client.send(b"HTTP/1.1 101 Switching Protocols\r\n")
    while True:
        await client.send(b"X-Flood: " + b"x" * 100 + b"\r\n")


async def candidate_unanswered(client: Client) -> None:
    await client.switch()
    await client.next_frame()
    client.limit()
    await client.gone()


async def candidate_wrong(client: Client) -> None:
    await client.switch()
    await client.next_frame()
    client.limit()
    await client.text("3nope")
    await client.gone()


async def candidate_flood(client: Client) -> None:
    await client.switch()
    client.limit()
    while True:
        await client.send(frame(0x81, b'42["flood"]') * 1000)


async def candidate_pings(client: Client) -> None:
    await client.switch()
    client.limit()
    while True:
        await client.send(frame(0x89, b"p" * 125) * 256)


async def candidate_huge_length(client: Client) -> None:
    await client.switch()
    client.limit()
    await client.send(frame(0x82, b"x" * 1000, length=1 << 62))
    while True:
        await client.send(b"x" * (1 << 16))


async def candidate_large_frame(client: Client) -> None:
    """A frame that is allowed, almost to its end."""
    await client.switch()
    client.limit()
    await client.send(frame(0x81, b"x" * (15 * MIB), length=16 * MIB))
    await client.gone()


async def candidate_left_open(client: Client) -> None:
    """Closes at once."""
    await client.switch()
    client.limit()


async def candidate_left_probe(client: Client) -> None:
    """Closes when it is asked."""
    await client.switch()
    await client.next_frame()
    client.limit()


async def candidate_left_answer(client: Client) -> None:
    """Closes behind its answer, while the last poll is held."""
    await client.switch()
    await client.next_frame()
    client.limit()
    await client.text("3probe")


async def candidate_more_than_answered(client: Client) -> None:
    """Does not wait until the client has changed."""
    await client.switch()
    await client.next_frame()
    client.limit()
    await client.text("3probe")
    await client.text('42["early"]')
    await client.gone()


async def candidate_lost(client: Client) -> None:
    """Closes as soon as it has the session."""
    await client.welcome()
    client.limit()


def named(*functions):
    return {function.__name__.replace("_", "-"): function for function in functions}


POLLING_ATTACKS = named(*(function for name, function in list(globals().items()) if name.startswith("poll_")))
CANDIDATE_ATTACKS = named(*(function for name, function in list(globals().items()) if name.startswith("candidate_")))
