private import CLinkspanRuntime
private import Dispatch

#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#elseif canImport(Android)
private import Android
#endif

/// Reads files whose names come from a configuration: regular files of limited size, and nothing that could block.
///
/// Opening a FIFO waits for a writer, and a device may have bytes without end. What is open is judged, so that it cannot be
/// exchanged between a look and the reading. A file system that does not answer, such as that of a server which has gone, is
/// given up after some seconds.
package enum RegularFile {
    /// The reason why a file was not read.
    package struct Failure: Error, Sendable, Hashable {
        /// The reason, as the end of a sentence.
        package var reason: String

        /// Makes a failure with its reason.
        package init(reason: String) { self.reason = reason }
    }

    /// The time that a file system has to answer.
    private static let patience = Duration.seconds(10)

    /// The identity of a file that was open, and the time of its last change.
    package struct Identity: Sendable, Hashable {
        let device: UInt64
        let number: UInt64
        let size: Int64
        let seconds: Int64
        let nanoseconds: Int64
    }

    /// The state of a file at one moment.
    package struct Snapshot: Sendable, Hashable {
        /// Nil when nothing could be opened, or the file system did not answer.
        package var identity: Identity?
        /// The bytes, or the reason why there are none.
        package var bytes: Result<[UInt8], Failure>

        /// Makes a snapshot from its parts.
        package init(identity: Identity?, bytes: Result<[UInt8], Failure>) {
            self.identity = identity
            self.bytes = bytes
        }
    }

    /// The bytes of a file.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - limit: the most bytes that it may have.
    /// - Returns: its bytes.
    /// - Throws: ``Failure`` when it cannot be opened or read, not in 10 seconds, is not a regular file, or is larger than
    ///   `limit`.
    package static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        try Self.withFile(path) { descriptor throws(Failure) in try Self.bytes(of: descriptor, limit: limit) }
    }

    /// Throws unless there is a regular file, for those who have others read it.
    package static func check(_ path: String) throws(Failure) { try Self.withFile(path) { _ in } }

    /// Opens a regular file for `body`, and gives both up when the file system does not answer.
    private static func withFile<Value: Sendable>(
        _ path: String, _ body: @escaping @Sendable (CInt) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try Self.within(Self.patience) { () throws(Failure) in
            let descriptor = try Self.opened(path)
            defer { close(descriptor) }
            try Self.check(descriptor)
            return try body(descriptor)
        }
    }

    private static func opened(_ path: String) throws(Failure) -> CInt {
        // Without O_NONBLOCK the opening of a FIFO would wait; on a regular file it means nothing.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.lastFailure() }
        return descriptor
    }

    /// Runs `work` on a thread of its own, and fails when it has not returned within `patience`.
    static func within<Value: Sendable>(
        _ patience: Duration, _ work: @escaping @Sendable () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try Work(work).result(within: patience)
    }

    /// The state of a file, in whatever time its file system takes.
    fileprivate static func snapshot(_ path: String, limit: Int) -> Snapshot {
        do throws(Failure) {
            let descriptor = try Self.opened(path)
            defer { close(descriptor) }
            let bytes = Result { () throws(Failure) -> [UInt8] in
                try Self.check(descriptor)
                return try Self.bytes(of: descriptor, limit: limit)
            }
            // Asked of the descriptor: behind the name there may be another file by now, or no answer.
            return Snapshot(identity: Identity(descriptor), bytes: bytes)
        } catch {
            return Snapshot(identity: nil, bytes: .failure(error))
        }
    }

    private static func bytes(of descriptor: CInt, limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= limit {
            let room = min(chunk.count, limit + 1 - bytes.count)
            let count = systemRead(descriptor, &chunk, room)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.lastFailure() }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
        throw Failure(reason: "it is larger than \(limit >> 10) KiB")
    }

    private static func check(_ descriptor: CInt) throws(Failure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.lastFailure() }
        let kind: String
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: kind = "a directory"
        case S_IFIFO: kind = "a FIFO"
        case S_IFCHR, S_IFBLK: kind = "a device"
        default: kind = "something else"
        }
        throw Failure(reason: "it is \(kind), not a regular file")
    }

    private static func lastFailure() -> Failure { Failure(reason: SystemProblem.text(of: errno)) }
}

extension RegularFile {
    /// Takes one snapshot after the other, each in bounded time.
    ///
    /// A file system that does not answer keeps the thread that asked it. While it does, no other thread is sent there.
    package struct Snapshots: Sendable {
        private let patience: Duration
        private let snapshot: @Sendable (String, Int) -> Snapshot
        /// The work that was given up, or is under way.
        private var work: Work<Snapshot>?

        /// Makes snapshots of files.
        package init() {
            self.init(patience: RegularFile.patience) { path, limit in RegularFile.snapshot(path, limit: limit) }
        }

        /// Makes snapshots with what a test has in place of files.
        package init(patience: Duration, _ snapshot: @escaping @Sendable (String, Int) -> Snapshot) {
            self.patience = patience
            self.snapshot = snapshot
        }

        /// The state of the file at `path`, of which up to `limit` bytes are read; symbolic links are followed.
        package mutating func take(_ path: String, limit: Int) -> Snapshot {
            let snapshot = self.snapshot
            do throws(Failure) {
                if let former = self.work, !former.isDone { throw Failure.unanswered(self.patience) }
                let work = try Work<Snapshot> { snapshot(path, limit) }
                self.work = work
                let result = try work.result(within: self.patience)
                self.work = nil
                return result
            } catch {
                return Snapshot(identity: nil, bytes: .failure(error))
            }
        }
    }

    /// Work on a thread of its own, which may never return.
    private struct Work<Value: Sendable>: Sendable {
        private let outcome = Promise<Result<Value, Failure>>()
        // Signalled once, by the thread that does the work; one thread waits for it, once.
        private let end = DispatchSemaphore(value: 0)

        /// Begins.
        init(_ work: @escaping @Sendable () throws(Failure) -> Value) throws(Failure) {
            let hasThread = SystemThread.start(name: "linkspan-file") { [outcome, end] in
                outcome.fulfill(Result { () throws(Failure) in try work() })
                end.signal()
            }
            guard hasThread else { throw Failure(reason: "the system has no thread left to read it") }
        }

        var isDone: Bool { self.outcome.fulfilled != nil }

        /// Waits for the result, once.
        func result(within patience: Duration) throws(Failure) -> Value {
            _ = self.end.wait(timeout: .now() + .milliseconds(Int(patience / .milliseconds(1))))
            guard let outcome = self.outcome.fulfilled else { throw Failure.unanswered(patience) }
            return try outcome.get()
        }
    }
}

extension RegularFile.Failure {
    fileprivate static func unanswered(_ patience: Duration) -> Self {
        Self(reason: "its file system did not answer within \(patience)")
    }
}

extension RegularFile.Identity {
    /// Nil when the system does not tell.
    fileprivate init?(_ descriptor: CInt) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        self.init(
            device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino),
            size: Int64(status.st_size), seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }
}

/// The system's `read`, which the type's own hides.
private func systemRead(_ descriptor: CInt, _ buffer: inout [UInt8], _ count: Int) -> Int {
    read(descriptor, &buffer, count)
}
