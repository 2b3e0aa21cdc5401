"""Servers and proxies with one fault each, for the tests of the doctor: `faults.py CASE FOLDER`.

Prints `listening PORT` when it serves, and ends with its input. Real proxies are nginx and haproxy of the system.
"""

import asyncio
import base64
import contextlib
import ctypes
import hashlib
import json
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

HOST = "127.0.0.1"
CASE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
OPEN = {"sid": "abc", "upgrades": ["websocket"], "pingInterval": 25_000, "pingTimeout": 20_000, "maxPayload": 1_000_000}


def free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        return probe.getsockname()[1]


def program(*command: str) -> None:
    """Starts a program that ends with this one."""
    path = shutil.which(command[0], path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
    if path is None:
        sys.exit(f"there is no {command[0]}: install it as .ci/prerequisites tests does")
    libc = ctypes.CDLL(None)
    end_with_parent = lambda: libc.prctl(1, signal.SIGKILL) if hasattr(libc, "prctl") else None
    subprocess.Popen([path, *command[1:]], preexec_fn=end_with_parent, stdin=subprocess.DEVNULL)


async def wait_for(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            (await asyncio.open_connection(HOST, port))[1].close()
            return
        await asyncio.sleep(0.02)
    sys.exit(f"nothing listens at {port}")


# Servers of Socket.IO.

async def socket_io(cors="*", refuses="", namespace="/", disconnects=False, transports=None, path="socket.io", **options) -> int:
    """A server of python-socketio on aiohttp."""
    import socketio
    from aiohttp import web

    options = {"ping_interval": 1, "ping_timeout": 5} | options
    server = socketio.AsyncServer(
        async_mode="aiohttp", cors_allowed_origins=cors, transports=transports, **options)

    @server.on("connect", namespace=namespace)
    async def connect(sid, environ, auth):
        if refuses and (auth or {}).get("token") != "good":
            raise socketio.exceptions.ConnectionRefusedError(refuses)
        if disconnects:
            server.start_background_task(server.disconnect, sid)

    application = web.Application()
    server.attach(application, socketio_path=path)
    return await application_server(application)


async def application_server(application) -> int:
    from aiohttp import web

    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    return site._server.sockets[0].getsockname()[1]


async def old_socket_io() -> int:
    """A server that speaks Engine.IO 3 as 2.x does: it answers each version so."""
    text = "0" + json.dumps(OPEN)
    return await answering(body=f"{len(text)}:{text}2:40", kind="text/plain; charset=UTF-8")


# Servers on raw sockets.

async def raw(serve, context=None) -> int:
    """A server that runs a coroutine for each connection."""
    async def accept(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(accept, HOST, 0, ssl=context)
    return server.sockets[0].getsockname()[1]


async def request(reader) -> tuple[str, dict[str, str]]:
    """The target and the fields of a request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
    if length := int(fields.get("content-length", 0)):
        await reader.readexactly(length)
    return head[0].split(" ")[1], fields


def answer(status="200 OK", body="", kind="text/html", fields="") -> bytes:
    data = body.encode()
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{fields}Connection: close\r\n\r\n".encode() + data


async def answering(status="200 OK", body="<!doctype html><title>Welcome</title>", kind="text/html", fields="", context=None) -> int:
    async def serve(reader, writer):
        await request(reader)
        writer.write(answer(status, body, kind, fields))
        await writer.drain()

    return await raw(serve, context)


def accepted(fields: dict[str, str], key_suffix="258EAFA5-E914-47DA-95CA-C5AB0DC85B11") -> bytes:
    """The answer to an upgrade."""
    digest = base64.b64encode(hashlib.sha1((fields["sec-websocket-key"] + key_suffix).encode()).digest()).decode()
    return f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {digest}\r\n\r\n".encode()


def frame(text: str) -> bytes:
    data = text.encode()
    return (bytes([0x81, len(data)]) if len(data) < 126 else bytes([0x81, 126]) + len(data).to_bytes(2)) + data


async def bare_chunks() -> int:
    """An answer in chunks whose lines end with LF alone."""
    async def serve(reader, writer):
        await request(reader)
        body = "0" + json.dumps(OPEN)
        writer.write(f"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n{len(body):x}\n{body}\n0\n\n".encode())
        await writer.drain()
        await reader.read()

    return await raw(serve)


async def engine(socket_frames=(), polls=True, holds=True, accepts=True, reads=True, status="200 OK", line_end=b"\r\n", **values) -> int:
    """Engine.IO by hand: answers polling with an open packet, and an upgrade with these frames; CONNECT is accepted."""
    sessions = 0

    async def serve(reader, writer):
        nonlocal sessions
        target, fields = await request(reader)
        if "upgrade" in fields and not accepts:
            await reader.read()
        elif "upgrade" in fields:
            writer.write(accepted(fields).replace(b"\r\n", line_end))
            for text in socket_frames if "sid=" not in target else ():
                writer.write(text if isinstance(text, bytes) else frame(text))
            await writer.drain()
            if not reads:
                await asyncio.sleep(3600)
            while holds and (head := await reader.readexactly(2)):
                length = head[1] & 127
                length = int.from_bytes(await reader.readexactly(2)) if length == 126 else length
                mask = await reader.readexactly(4)
                data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(await reader.readexactly(length)))
                if head[0] & 15 == 9:
                    writer.write(bytes([0x8A, len(data)]) + data)
                elif data.startswith(b"40"):
                    writer.write(frame('40{"sid":"x"}'))
                elif data == b"2probe":
                    writer.write(frame("3probe"))
        elif polls:
            body = "40{}" if "sid=" in target and "content-length" not in fields else "ok" if "sid=" in target else "0" + json.dumps(OPEN | values)
            writer.write(answer(status, body, "text/plain").replace(b"\r\n", line_end))
            await writer.drain()
        else:
            await reader.read()

    return await raw(serve)


# Proxies.

async def relay(port: int, delay=0.0, withholds_after_upgrade=False, life=None, most=None) -> int:
    """A proxy that carries bytes later, keeps what follows an upgrade or the `most` bytes of a client for itself, or cuts connections at an age."""
    async def carry(reader, writer, withholds, left=None):
        is_silent = False
        while data := await reader.read(65536):
            if left is not None:
                left -= len(data)
                is_silent = is_silent or left < 0
            # Each piece is late by the same time, and none waits for another.
            if not is_silent:
                asyncio.get_running_loop().call_later(delay, writer.write, data)
            is_silent = is_silent or withholds and b" 101 " in data
        asyncio.get_running_loop().call_later(delay, writer.close)

    async def serve(reader, writer):
        upstream, down = await asyncio.open_connection(HOST, port)
        if life is not None:
            asyncio.get_running_loop().call_later(life, writer.transport.abort)
        await asyncio.gather(carry(reader, down, False, most), carry(upstream, writer, withholds_after_upgrade))
        await asyncio.sleep(delay + 0.1)

    return await raw(serve)


UPGRADES = 'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade"; '


async def nginx(ports: list[int], settings: str, balance="", tls="") -> int:
    port = free_port()
    servers = " ".join(f"server {HOST}:{each};" for each in ports)
    temporary = " ".join(f"{kind}_temp_path {FOLDER}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (FOLDER / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {FOLDER}/nginx.pid; error_log stderr crit; events {{}} http {{ access_log off; "
        f"{temporary} proxy_cache_path {FOLDER}/cache keys_zone=kept:1m; "
        f"limit_conn_zone $server_port zone=connections:1m; limit_req_zone $server_port zone=requests:1m rate=1r/m; upstream nodes {{ {balance} {servers} }} server {{ listen {HOST}:{port}{' ssl' if tls else ''}; {tls} "
        f"location / {{ proxy_pass http://nodes; proxy_set_header Host $http_host; {settings} }} }} }}")
    program("nginx", "-e", "stderr", "-p", str(FOLDER), "-c", str(FOLDER / "nginx.conf"))
    await wait_for(port)
    return port


async def haproxy(ports: list[int], settings: str, cookie=False, front="", server="") -> int:
    port = free_port()
    servers = "\n".join(f" server s{each} {HOST}:{each} {server}" + (f" cookie s{each}" if cookie else "") for each in ports)
    (FOLDER / "haproxy.cfg").write_text(
        f"defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\nfrontend front\n bind {HOST}:{port} {front}\n"
        f" default_backend nodes\nbackend nodes\n balance roundrobin\n{settings}\n{servers}\n")
    program("haproxy", "-q", "-db", "-f", str(FOLDER / "haproxy.cfg"))
    await wait_for(port)
    return port


async def haproxy_for_clients_with_certificates(version: str) -> int:
    certificate("good")
    (FOLDER / "both.pem").write_text((FOLDER / "leaf.pem").read_text() + (FOLDER / "leaf.key").read_text())
    verify = f"ssl crt {FOLDER}/both.pem ca-file {FOLDER}/authority.pem verify required ssl-min-ver {version} ssl-max-ver {version}"
    return await haproxy([await socket_io()], "", front=verify)


# Certificates.

def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=FOLDER, check=True, capture_output=True)


async def tls(**options) -> int:
    """A server with a good certificate, whose context has these attributes."""
    context = certificate("good")
    for name, value in options.items():
        setattr(context, name, value)
    if options.get("verify_mode"):
        context.load_verify_locations(FOLDER / "authority.pem")
    return await answering(body="ok", kind="text/plain", context=context)


async def openssl_server(*options: str) -> int:
    certificate("good")
    port = free_port()
    program("openssl", "s_server", "-accept", f"{HOST}:{port}", "-quiet", "-cert", f"{FOLDER}/leaf.pem", "-key", f"{FOLDER}/leaf.key",
            *options)
    await wait_for(port)
    return port


def certificate(kind: str) -> ssl.SSLContext:
    """A context whose certificate has a fault; its authority is authority.pem of the folder."""
    (FOLDER / "index.txt").write_text("")
    (FOLDER / "serial").write_text("01")
    (FOLDER / "ca.cnf").write_text(
        "[ca]\ndefault_ca=own\n[own]\ndir=.\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=any\n"
        "email_in_dn=no\n[any]\ncommonName=supplied\n[leaf]\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n"
        "[other]\nsubjectAltName=DNS:other.example\n[authority]\nbasicConstraints=critical,CA:TRUE\n")
    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(*new, "-x509", "-days", "30", "-subj", "/CN=Authority", "-keyout", "authority.key", "-out", "authority.pem")
    if kind == "selfsigned":
        openssl(*new, "-x509", "-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", "leaf.key", "-out", "leaf.pem")
    else:
        dates = {"expired": ("20200101000000Z", "20210101000000Z"), "future": ("20990101000000Z", "20991231000000Z")}
        start, end = dates.get(kind, ("20250101000000Z", "20351231000000Z"))
        issuer = ["-cert", "authority.pem", "-keyfile", "authority.key"]
        if kind == "incomplete":
            openssl(*new, "-subj", "/CN=Intermediate", "-keyout", "middle.key", "-out", "middle.csr")
            openssl("ca", "-batch", "-config", "ca.cnf", *issuer, "-extensions", "authority", "-startdate", start, "-enddate", end,
                    "-in", "middle.csr", "-out", "middle.pem", "-notext")
            issuer = ["-cert", "middle.pem", "-keyfile", "middle.key"]
        openssl(*new, "-subj", "/CN=leaf", "-keyout", "leaf.key", "-out", "leaf.csr")
        openssl("ca", "-batch", "-config", "ca.cnf", *issuer, "-extensions", "other" if kind == "wrongname" else "leaf",
                "-startdate", start, "-enddate", end, "-in", "leaf.csr", "-out", "leaf.pem", "-notext")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "leaf.pem", FOLDER / "leaf.key")
    return context


# Raw WebSockets.

async def web_app() -> int:
    """A raw WebSocket at one path of a web app."""
    from aiohttp import web

    async def echo(received):
        connection = web.WebSocketResponse()
        await connection.prepare(received)
        async for message in connection:
            await connection.send_str(message.data)
        return connection

    application = web.Application()
    application.router.add_get("/live", echo)
    return await application_server(application)


async def websocket(**options) -> int:
    from websockets.asyncio.server import serve

    async def echo(connection):
        async for message in connection:
            await connection.send(message)

    server = await serve(echo, HOST, 0, **options)
    return server.sockets[0].getsockname()[1]


async def closing(code: int, reason: str) -> int:
    from websockets.asyncio.server import serve

    server = await serve(lambda connection: connection.close(code, reason), HOST, 0)
    return server.sockets[0].getsockname()[1]


async def silent() -> int:
    return await raw(lambda reader, writer: asyncio.sleep(3600))


async def full() -> int:
    """A port whose queue of connections is full, so that the system drops each further one."""
    listener = socket.create_server((HOST, 0), backlog=0)
    listener.setblocking(False)
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
        KEPT.append(client)
    KEPT.append(listener)
    return listener.getsockname()[1]


async def wrong_accept() -> int:
    async def serve(reader, writer):
        _, fields = await request(reader)
        writer.write(accepted(fields, "wrong") if "upgrade" in fields else answer(body="0" + json.dumps(OPEN), kind="text/plain"))
        await writer.drain()
        await reader.read()

    return await raw(serve)


async def talking(*first: bytes, fields="") -> int:
    """A raw WebSocket whose server begins with these bytes."""
    async def serve(reader, writer):
        _, received = await request(reader)
        writer.write(accepted(received).replace(b"\r\n\r\n", f"\r\n{fields}\r\n".encode()) + b"".join(first))
        await writer.drain()
        await reader.read()

    return await raw(serve)


async def one_origin() -> int:
    """A raw WebSocket that refuses web pages, and answers in its own way to more than one field for their origin."""
    async def serve(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        is_one = head.count("\r\norigin:") == 1
        writer.write(answer("403 Forbidden", "origin not allowed") if is_one else answer("400 Bad Request", "two fields"))
        await writer.drain()

    return await raw(serve)


async def pair() -> list[int]:
    return [await socket_io(), await socket_io()]


async def noisy() -> int:
    async def serve(reader, writer):
        writer.write(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
        await writer.drain()
        await reader.read(1000)

    return await raw(serve)


async def foreign(reply: bytes) -> int:
    """A server of a protocol with lines, or frames, of which each gets the same reply."""
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n")
        writer.write(reply)
        await writer.drain()
        await reader.read()

    return await raw(serve)


async def hanging() -> int:
    async def serve(reader, writer):
        await reader.read(1)

    return await raw(serve)


def frames(**values):
    return ["0" + json.dumps(OPEN | values)]


async def behind_tls(settings="") -> int:
    certificate("good")
    return await nginx([await socket_io()], UPGRADES, tls=f"ssl_certificate {FOLDER}/leaf.pem; ssl_certificate_key {FOLDER}/leaf.key; {settings}")


async def behind(proxy, servers, *arguments, **options) -> int:
    ports = await servers
    return await proxy(ports if isinstance(ports, list) else [ports], *arguments, **options)


async def relayed(server, **options) -> int:
    return await relay(await server, **options)


KEPT = []
CASES = {
    # Faults of servers.
    "full": full, "silent": silent, "noisy": noisy, "hanging": hanging,
    "redis": lambda: foreign(b"-ERR unknown command\r\n"),
    "http2": lambda: foreign(bytes([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 128, 0, 0, 8, 7, 0, 0, 0, 0, 0]) + bytes(8)),
    "page": answering,
    "status-401": lambda: answering("401 Unauthorized", "who are you?", "text/plain"),
    "status-403": lambda: answering("403 Forbidden", "no", "text/plain"),
    "status-404": lambda: answering("404 Not Found", "nothing here", "text/plain"),
    "status-500": lambda: answering("500 Internal Server Error", "oops", "text/plain"),
    "status-429": lambda: answering("429 Too Many Requests", "slow down", "text/plain", "Retry-After: 30\r\n"),
    **{f"status-{status[:3]}": (lambda status=status: answering(status, f"<title>{status}</title>"))
       for status in ("405 Method Not Allowed", "407 Proxy Authentication Required", "410 Gone", "421 Misdirected Request",
                      "406 Not Acceptable", "414 URI Too Long", "431 Request Header Fields Too Large", "451 Unavailable For Legal Reasons", "511 Network Authentication Required", "526 Invalid SSL Certificate")},
    "large-cookie": lambda: answering("400 Bad Request", "<title>400 Request Header Or Cookie Too Large</title>"),
    "bare-lf": lambda: engine(frames(pingInterval=500, pingTimeout=500), line_end=b"\n"), "bare-lf-chunks": bare_chunks,
    "below-a-path": lambda: socket_io(path="app/socket.io"),
    "rare-pings": lambda: socket_io(ping_interval=3600), "usual-pings": lambda: socket_io(ping_interval=25),
    "wrong-host": lambda: answering("400 Bad Request", "Invalid Host header", "text/plain"),
    "basic": lambda: answering("401 Unauthorized", "", "text/plain", 'WWW-Authenticate: Basic realm="Staff"\r\n'),
    "login": lambda: answering("302 Found", "", "text/plain", "Location: http://portal.example/login\r\n"),
    "empty": lambda: answering(body=""),
    "redirect": lambda: answering("301 Moved Permanently", "", "text/plain", "Location: https://elsewhere.example/?token=secret\r\n"),
    "old": old_socket_io,
    "unsupported": lambda: answering("400 Bad Request", '{"code":5,"message":"Unsupported protocol version"}', "application/json"),
    "cors": lambda: socket_io(cors=["https://elsewhere.example"]),
    "no-cors": lambda: socket_io(cors=[]),
    "small": lambda: socket_io(max_http_buffer_size=1024),
    "refusing": lambda: socket_io(refuses="not authorized"),
    "full-room": lambda: socket_io(refuses="the room is full", namespace="/room"),
    "banned": lambda: engine(frames() + [bytes([0x88, 8, 3, 0xF0]) + b"banned"]),
    "zipped": lambda: answering(body="zipped", kind="text/plain", fields="Content-Encoding: gzip\r\n"),
    "endless": lambda: answering(body="x" * 2_000_000),
    "status-413": lambda: answering("413 Payload Too Large", "", "text/plain"),
    "disconnecting": lambda: socket_io(disconnects=True),
    "bad-open": lambda: answering(body="0" + json.dumps(OPEN | {"pingInterval": "soon"}), kind="text/plain"),
    "bad-frame-open": lambda: engine(frames(pingTimeout=None)),
    "huge-interval": lambda: engine(frames(pingInterval=1e300), pingInterval=1e300),
    "created": lambda: engine(frames(), status="201 Created"),
    "zero-interval": lambda: engine(frames(pingInterval=0), pingInterval=0),
    "polling-only": lambda: socket_io(transports=["polling"]),
    "websocket-only": lambda: socket_io(transports=["websocket"]),
    "no-pings": lambda: engine(frames(pingInterval=500, pingTimeout=500)),
    "no-open": lambda: engine(polls=False),
    "hang-up": lambda: engine(holds=False),
    "binary-open": lambda: engine([bytes([0x82, 5]) + b"hello"]),
    "old-socket": lambda: engine(frames() + [frame("40")]),
    "unread": lambda: engine(frames(), reads=False),
    "no-upgrade-answer": lambda: engine(accepts=False),
    "closed-session": lambda: engine(frames() + [frame("1")]),
    "slow-path": lambda: relayed(socket_io(ping_interval=5, ping_timeout=0.1), delay=0.2),
    "wrong-accept": wrong_accept,
    # Faults of proxies.
    "nginx-dead": lambda: nginx([free_port()], UPGRADES),
    "nginx-slow": lambda: behind(nginx, silent(), UPGRADES + "proxy_read_timeout 1s;"),
    "nginx-no-upgrade": lambda: behind(nginx, socket_io(), ""),
    "nginx-half-upgrade": lambda: behind(nginx, socket_io(), UPGRADES.replace('"upgrade"', '"close"')),
    "nginx-client-certificate": lambda: behind_tls(f"ssl_client_certificate {FOLDER}/authority.pem; ssl_verify_client on;"),
    "nginx-idle": lambda: behind(nginx, socket_io(ping_interval=25), UPGRADES + "proxy_read_timeout 1s;"),
    "nginx-split": lambda: behind(nginx, pair(), UPGRADES),
    "nginx-raw-no-upgrade": lambda: behind(nginx, websocket(), ""),
    "nginx-raw-idle": lambda: behind(nginx, websocket(ping_interval=None), UPGRADES + "proxy_read_timeout 1s;"),
    "haproxy-dead": lambda: haproxy([free_port()], ""),
    "haproxy-split": lambda: behind(haproxy, pair(), ""),
    "haproxy-idle": lambda: behind(haproxy, socket_io(ping_interval=25), " timeout tunnel 1s"),
    "nginx-connections": lambda: behind(nginx, websocket(), UPGRADES + "limit_conn connections 1;"),
    **{f"nginx-requests-{burst}": (lambda burst=burst: behind(nginx, socket_io(), UPGRADES + f"limit_req zone=requests burst={burst} nodelay;"))
       for burst in (1, 4)},
    "nginx-body": lambda: behind(nginx, socket_io(), UPGRADES + "client_max_body_size 1k;"),
    "nginx-get-alone": lambda: behind(nginx, socket_io(), UPGRADES + "limit_except GET { deny all; }"),
    "nginx-double-cors": lambda: behind(nginx, socket_io(), UPGRADES + "add_header Access-Control-Allow-Origin https://app.example always;"),
    "nginx-no-query": lambda: behind(nginx, socket_io(), UPGRADES + 'set $args "";'),
    "nginx-cache": lambda: behind(nginx, socket_io(), UPGRADES + "proxy_cache kept; proxy_cache_key $uri; proxy_cache_valid any 1m;"
                                  " proxy_ignore_headers Cache-Control;"),
    "nginx-to-tls": lambda: behind(nginx, behind_tls(), UPGRADES),
    "nginx-no-agent": lambda: behind(nginx, socket_io(), UPGRADES + 'if ($http_user_agent = "") { return 403; }'),
    "haproxy-one": lambda: behind(haproxy, socket_io(), "", front="\n maxconn 1"),
    "haproxy-raw-one": lambda: behind(haproxy, websocket(), "", front="\n maxconn 1"),
    "haproxy-proxy-protocol": lambda: behind(haproxy, socket_io(), "", server="send-proxy"),
    "hole": lambda: relayed(socket_io(), most=8_000),
    "short-life": lambda: relayed(socket_io(), life=1.6),
    "buffering": lambda: relayed(socket_io(), withholds_after_upgrade=True),
    # TLS.
    **{f"tls-{kind}": (lambda kind=kind: answering(body="ok", kind="text/plain", context=certificate(kind)))
       for kind in ("expired", "future", "wrongname", "selfsigned", "incomplete", "good")},
    "tls-1.2-wants-client": lambda: tls(verify_mode=ssl.CERT_REQUIRED, maximum_version=ssl.TLSVersion.TLSv1_2),
    "tls-1.3-wants-client": lambda: tls(verify_mode=ssl.CERT_REQUIRED, minimum_version=ssl.TLSVersion.TLSv1_3),
    "haproxy-1.2-wants-client": lambda: haproxy_for_clients_with_certificates("TLSv1.2"),
    "haproxy-1.3-wants-client": lambda: haproxy_for_clients_with_certificates("TLSv1.3"),
    "tls-1.1": lambda: openssl_server("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"),
    "tls-no-cipher": lambda: openssl_server("-tls1_2", "-cipher", "ECDHE-ECDSA-NULL-SHA:@SECLEVEL=0"),
    "tls-http2": lambda: openssl_server("-alpn", "h2"),
    "nginx-unknown-name": lambda: behind_tls("ssl_reject_handshake on;"),
    # Raw WebSockets.
    "subprotocol": lambda: websocket(subprotocols=["chat.v2"]),
    "origins": lambda: websocket(origins=["https://elsewhere.example", None]),
    "one-origin": one_origin,
    "needs-origin": lambda: websocket(origins=["https://app.example"]),
    "masked": lambda: talking(bytes([0x81, 0x85, 1, 2, 3, 4]) + b"hello"),
    "unasked": lambda: talking(fields="Sec-WebSocket-Protocol: chat.v2\r\n"),
    "web-app": web_app,
    **{f"closing-{code}": (lambda code=code: closing(code, "so it is")) for code in (1000, 1011, 1012, 1013)},
    "closing": lambda: closing(4401, "token expired"),
    # Healthy ones.
    "healthy": socket_io, "healthy-websocket": websocket,
    "healthy-nginx": lambda: behind(nginx, socket_io(), UPGRADES),
    "healthy-nginx-two": lambda: behind(nginx, pair(), UPGRADES, balance="ip_hash;"),
    "healthy-nginx-websocket": lambda: behind(nginx, websocket(), UPGRADES),
    "healthy-nginx-tls": behind_tls,
    "healthy-haproxy-two": lambda: behind(haproxy, pair(), " cookie node insert indirect nocache", cookie=True),
}


async def main() -> None:
    print("listening", await CASES[CASE](), flush=True)
    await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
