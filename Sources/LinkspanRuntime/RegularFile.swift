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
            // Without O_NONBLOCK the opening of a FIFO would wait; on a regular file it means nothing.
            let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { throw Self.lastFailure() }
            defer { close(descriptor) }
            try Self.check(descriptor)
            return try body(descriptor)
        }
    }

    /// Runs `work` on a thread of its own, and fails when it has not returned within `patience`.
    static func within<Value: Sendable>(
        _ patience: Duration, _ work: @escaping @Sendable () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (outcome, isDone) = (Promise<Result<Value, Failure>>(), DispatchSemaphore(value: 0))
        let hasThread = SystemThread.start(name: "linkspan-file") {
            outcome.fulfill(Result { () throws(Failure) in try work() })
            isDone.signal()
        }
        guard hasThread else { throw Failure(reason: "the system has no thread left to read it") }
        _ = isDone.wait(timeout: .now() + .milliseconds(Int(patience / .milliseconds(1))))
        guard let outcome = outcome.fulfilled else {
            throw Failure(reason: "its file system did not answer within \(patience)")
        }
        return try outcome.get()
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

/// The system's `read`, which the type's own hides.
private func systemRead(_ descriptor: CInt, _ buffer: inout [UInt8], _ count: Int) -> Int {
    read(descriptor, &buffer, count)
}
