internal import Dispatch
internal import Foundation
internal import Testing

@testable import LinkspanRuntime

@Suite struct RegularFileTests {
    private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "linkspan-\(UUID().uuidString)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test(arguments: [0, 1, 65_536, 200_000])
    func `a file is read whole up to its limit, and not beyond it`(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        try self.withFile(bytes) { path in
            let read = try RegularFile.read(path, limit: count)
            #expect(read == bytes)
            guard count > 0 else { return }
            #expect(throws: RegularFile.Failure.self) { try RegularFile.read(path, limit: count - 1) }
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("/dev/zero", "it is a device, not a regular file"), ("/", "it is a directory, not a regular file"),
            ("/nowhere/at/all", "No such file or directory"),
        ])
    func `a file that is not regular is refused with its kind`(_ path: String, _ reason: String) {
        let failure = #expect(throws: RegularFile.Failure.self) { try RegularFile.read(path, limit: 10) }
        #expect(failure?.reason == reason)
        #expect(throws: RegularFile.Failure.self) { try RegularFile.check(path) }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a FIFO is refused without a writer`() throws {
        let path = NSTemporaryDirectory() + "linkspan-\(UUID().uuidString)"
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let failure = #expect(throws: RegularFile.Failure.self) { try RegularFile.read(path, limit: 10) }
        #expect(failure?.reason == "it is a FIFO, not a regular file")
    }

    @Test(.timeLimit(.minutes(1)))
    func `a file system that does not answer is given up`() {
        let hangs = DispatchSemaphore(value: 0)
        defer { hangs.signal() }
        let failure = #expect(throws: RegularFile.Failure.self) {
            try RegularFile.within(.milliseconds(10)) { () throws(RegularFile.Failure) in hangs.wait() }
        }
        #expect(failure?.reason == "its file system did not answer within 0.01 seconds")
    }
}
