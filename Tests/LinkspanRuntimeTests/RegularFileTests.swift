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
        var snapshots = RegularFile.Snapshots()
        let snapshot = snapshots.take(path, limit: 10)
        #expect(failure.map { snapshot.bytes == .failure($0) } == true)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a file system that does not answer is given up`() {
        let hangs = DispatchSemaphore(value: 0)
        defer { hangs.signal() }
        let began = ContinuousClock.now
        let failure = #expect(throws: RegularFile.Failure.self) {
            try RegularFile.within(.milliseconds(10)) { () throws(RegularFile.Failure) in hangs.wait() }
        }
        #expect(.now - began >= .milliseconds(10))
        #expect(failure?.reason == "its file system did not answer within 0.01 seconds")
    }

    @Test(.timeLimit(.minutes(1)))
    func `no snapshot is begun while a file system does not answer to one, and others are afterwards`() {
        let (begins, hangs) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let count = Lock(0)
        var snapshots = RegularFile.Snapshots(patience: .milliseconds(10)) { _, _ in
            count.withLock { $0 += 1 }
            begins.signal()
            hangs.wait()
            hangs.signal()
            return RegularFile.Snapshot(identity: nil, bytes: .success([1]))
        }
        let unanswered = RegularFile.Snapshot(
            identity: nil,
            bytes: .failure(RegularFile.Failure(reason: "its file system did not answer within 0.01 seconds")))
        let first = snapshots.take("/", limit: 1)
        #expect(first == unanswered)
        begins.wait()
        for _ in 0..<3 {
            let next = snapshots.take("/", limit: 1)
            #expect(next == unanswered)
        }
        #expect(count.withLock { $0 } == 1)
        hangs.signal()
        // Until the thread that hung is done.
        while snapshots.take("/", limit: 1) == unanswered {}
        #expect(count.withLock { $0 } > 1)
    }

    @Test
    func `snapshots tell files apart, whatever is read of them and by what name`() throws {
        var snapshots = RegularFile.Snapshots()
        try self.withFile([1, 2, 3]) { path in
            let first = snapshots.take(path, limit: 3)
            #expect(first.bytes == .success([1, 2, 3]))
            #expect(first.identity?.size == 3)
            let again = snapshots.take(path, limit: 3)
            #expect(again == first)
            let link = "\(path)-link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            defer { try? FileManager.default.removeItem(atPath: link) }
            let linked = snapshots.take(link, limit: 3)
            #expect(linked == first)
            let refused = snapshots.take(path, limit: 2)
            #expect(refused.identity == first.identity)
            #expect(throws: RegularFile.Failure.self) { try refused.bytes.get() }
            try self.withFile([1, 2, 3]) { other in
                let stranger = snapshots.take(other, limit: 3)
                #expect(stranger.bytes == first.bytes)
                #expect(stranger.identity != first.identity)
            }
        }
        let missing = snapshots.take("/nowhere/at/all", limit: 3)
        #expect(missing.identity == nil)
        #expect(missing.bytes == .failure(RegularFile.Failure(reason: "No such file or directory")))
    }
}
