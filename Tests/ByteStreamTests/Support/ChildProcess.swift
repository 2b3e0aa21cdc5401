import TestSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// A program run for a test, with its standard output in a pipe.
struct ChildProcess: Sendable {
    private let identifier: pid_t
    private let output: Int32

    init(_ arguments: [String]) throws { (self.identifier, self.output) = try spawn(arguments) }

    /// The next line of the output, empty at its end.
    func line() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while read(self.output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Waits for the program's own end; returns whether it succeeded.
    func hasSucceeded() -> Bool {
        var status: Int32 = 0
        while waitpid(self.identifier, &status, 0) == -1, errno == EINTR {}
        close(self.output)
        return status == 0
    }

    /// Ends the program, and does not wait for that; not after ``stop()``.
    func end() { kill(self.identifier, SIGKILL) }

    /// Ends the program.
    func stop() {
        self.end()
        _ = self.hasSucceeded()
    }
}

/// A server in a process of its own that upgrades and echoes, for more connections than threads can be had.
final class EchoProcess: Sendable {
    let port: Int
    private let process: ChildProcess

    init() throws {
        self.process = try ChildProcess(["python3", "-u", "-c", Self.script])
        self.port = Int(self.process.line()) ?? 0
        try #require(self.port > 0, "no server: is there a python3?")
    }

    func stop() { self.process.stop() }

    private static let script = """
        import asyncio, os
        os.closerange(3, 65536)
        async def serve(reader, writer):
            try:
                await reader.readuntil(b"\\r\\n\\r\\n")
                writer.write(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: x\\r\\nConnection: Upgrade\\r\\n\\r\\n")
                while more := await reader.read(65536):
                    writer.write(more)
                    await writer.drain()
            except (OSError, asyncio.IncompleteReadError): pass
            writer.close()
        async def main():
            server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
            print(server.sockets[0].getsockname()[1], flush=True)
            await server.serve_forever()
        asyncio.run(main())
        """
}

/// How many descriptors the process may have.
func descriptorLimit() -> Int {
    var limit = rlimit()
    #if canImport(Glibc)
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
    getrlimit(RLIMIT_NOFILE, &limit)
    #endif
    return Int(min(limit.rlim_cur, 1 << 20))
}
