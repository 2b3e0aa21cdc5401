"""The raw echo by Python's picows: `picows_echo.py PORT W7|W8`; prints a line in the form of the workloads."""
import asyncio
import resource
import sys
import time

import picows


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Echo(picows.WSListener):
    def on_ws_connected(self, transport: picows.WSTransport) -> None:
        self.transport = transport

    def on_ws_frame(self, transport: picows.WSTransport, frame: picows.WSFrame) -> None:
        assert len(frame.get_payload_as_memoryview()) == len(self.payload)
        self.received += 1
        if self.sent < self.count:
            self.sent += 1
            transport.send(picows.WSMsgType.BINARY, self.payload)
        if self.received == self.count:
            self.done.set_result(None)

    async def exchange(self, count: int, width: int, payload: bytes) -> None:
        self.count, self.payload, self.received, self.sent = count, payload, 0, min(width, count)
        self.done = asyncio.get_running_loop().create_future()
        for _ in range(self.sent):
            self.transport.send(picows.WSMsgType.BINARY, payload)
        await self.done


async def main() -> None:
    port, name = int(sys.argv[1]), sys.argv[2]
    count, width, payload = (100_000, 64, bytes([7]) * 64) if name == "W7" else (200, 1, bytes([7]) * (1 << 20))
    url = f"ws://127.0.0.1:{port}/raw"
    transport, echo = await picows.ws_connect(Echo, url, max_frame_size=1 << 24)
    await echo.exchange(count // 20, width, payload)
    start, used = time.monotonic(), cpu()
    await echo.exchange(count, width, payload)
    elapsed, used = time.monotonic() - start, cpu() - used
    print(f"{name:<12}{count / elapsed:14.0f}{used / count * 1e6:16.3f}{0:16.3f}")
    transport.disconnect()


asyncio.run(main())
