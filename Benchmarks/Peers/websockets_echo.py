"""The raw echo by Python's websockets: `websockets_echo.py PORT W7|W8`; prints a line in the form of the workloads."""
import asyncio
import resource
import sys
import time

import websockets


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def exchange(connection, count: int, width: int, payload: bytes) -> None:
    for _ in range(min(width, count)):
        await connection.send(payload)
    sent = min(width, count)
    for _ in range(count):
        assert len(await connection.recv()) == len(payload)
        if sent < count:
            sent += 1
            await connection.send(payload)


async def main() -> None:
    port, name = int(sys.argv[1]), sys.argv[2]
    # Fewer messages than the others: a run is to take seconds, and the figures are for each message.
    count, width, payload = (50_000, 64, bytes([7]) * 64) if name == "W7" else (200, 1, bytes([7]) * (1 << 20))
    async with websockets.connect(f"ws://127.0.0.1:{port}/raw", compression=None, max_size=None) as connection:
        await exchange(connection, count // 20, width, payload)
        start, used = time.monotonic(), cpu()
        await exchange(connection, count, width, payload)
        elapsed, used = time.monotonic() - start, cpu() - used
    print(f"{name:<12}{count / elapsed:14.0f}{used / count * 1e6:16.3f}{0:16.3f}")


asyncio.run(main())
