"""An echo over Socket.IO and over raw WebSockets, for the tests of the probe."""

import asyncio
import sys

import socketio
from aiohttp import web
from websockets.asyncio.server import serve


async def answer(connection):
    print("headers", connection.request.headers.get("X-Probe"), flush=True)
    async for message in connection:
        if message == "bye":
            await connection.close(1000, "as you wish")
        else:
            await connection.send(message)


async def main():
    server = socketio.AsyncServer(async_mode="aiohttp", namespaces="*")

    @server.on("*", namespace="*")
    async def event(event, namespace, sid, *args):
        if event == "question":
            await server.emit("question", "yes?", to=sid, namespace=namespace, callback=lambda *reply: print("reply", *reply, flush=True))
            return None
        if event == "leave":
            return await server.disconnect(sid, namespace)
        if event == "silence":
            await asyncio.sleep(60)
        await server.emit("echo", args, to=sid, namespace=namespace)
        return args

    @server.on("connect", namespace="*")
    async def connect(namespace, sid, environ, auth):
        print("connect", namespace, auth, environ.get("HTTP_X_PROBE"), flush=True)

    application = web.Application()
    server.attach(application)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    async with serve(answer, "127.0.0.1", 0, subprotocols=["probe"]) as sockets:
        print("listening", port, sockets.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
