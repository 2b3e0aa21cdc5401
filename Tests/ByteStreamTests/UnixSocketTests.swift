import Foundation
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite("A Unix-domain socket", .timeLimit(.minutes(1)), .overEachBackEnd)
struct UnixSocketTests {
    /// Runs `body` with a path in a folder of its own, which is removed afterwards.
    private func withPath<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "uds-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder.appendingPathComponent("s").path)
    }

    private func request(_ path: String) -> StreamRequest {
        var request = StreamRequest(host: "app.test", port: 80, isSecure: false)
        request.socketPath = path
        return request
    }

    @Test
    func `carries bytes both ways, and its file is gone when the listener is closed`() async throws {
        try await self.withPath { path in
            try await withLoop(listens: true) { loop in
                let listener = try await loop.listen(path: path) { stream in UpgradeEcho(stream) }
                #expect(listener.port == 0)
                let recorder = Recorder()
                let stream = recorder.connect(self.request(path), on: loop)
                _ = try await recorder.opening()
                stream.write { $0 += pattern(300_000) }
                let bytes = try await recorder.bytes(300_000)
                #expect(bytes == pattern(300_000))
                stream.abort()
                #expect(FileManager.default.fileExists(atPath: path))
                await listener.close()
                #expect(!FileManager.default.fileExists(atPath: path))
            }
        }
    }

    @Test
    func `that does not exist is unreachable, with the system's reason`() async throws {
        try await self.withPath { path in
            try await withLoop { loop in
                let recorder = Recorder()
                _ = recorder.connect(self.request(path), on: loop)
                let error = await recorder.ending()
                #expect(error.code == .unreachable)
                #expect(error.message.hasSuffix("(no such file or directory)"), "\(error)")
            }
        }
    }

    @Test
    func `is not listened at where a file is, and the error says what to do`() async throws {
        try await self.withPath { path in
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            try await withLoop(listens: true) { loop in
                let error = await #expect(throws: ByteStreamError.self) {
                    _ = try await loop.listen(path: path) { _ in nil }
                }
                #expect(error?.code == .unlistenable)
                let advice = "Address already in use; remove the file if no server uses it"
                #expect(error?.message == "\(path) is not available: \(advice)")
                #expect(FileManager.default.fileExists(atPath: path))
            }
        }
    }

    @Test(arguments: ["", String(repeating: "p", count: 104)])
    func `is not listened at with a path that no socket can have`(_ path: String) async throws {
        try await withLoop(listens: true) { loop in
            let error = await #expect(throws: ByteStreamError.self) {
                _ = try await loop.listen(path: path) { _ in nil }
            }
            #expect(error?.code == .unlistenable)
            #expect(error?.message == "the path of the socket is empty or longer than 103 bytes")
        }
    }

    @Test
    func `cannot have an empty or a long path, nor a proxy`() throws {
        for path in ["", String(repeating: "p", count: 104)] {
            #expect(throws: ByteStreamError.self) { try self.request(path).validated() }
        }
        var request = self.request("/s")
        try request.validated()
        request.proxy = NetworkProxy(host: "p", port: 1)
        #expect(throws: ByteStreamError.self) { try request.validated() }
    }
}

/// Answers the first request with 101, and returns all bytes that follow.
private final class UpgradeEcho: ByteStreamHandler {
    private let stream: any ByteStream
    private var head: [UInt8]? = []

    init(_ stream: any ByteStream) { self.stream = stream }

    func opened(_ head: ResponseHead) {}
    func writable() {}
    func closed(_ reason: ByteStreamError) {}

    func received(_ bytes: [UInt8]) {
        guard let head = self.head else {
            self.stream.write { $0 += bytes }
            return
        }
        self.head = head + bytes
        guard let end = (head + bytes).firstRange(of: Array("\r\n\r\n".utf8)) else { return }
        let rest = (head + bytes)[end.upperBound...]
        self.head = nil
        self.stream.write { $0 += Array(Peer.upgraded.utf8) + rest }
    }
}
