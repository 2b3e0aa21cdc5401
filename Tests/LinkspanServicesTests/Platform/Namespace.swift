#if os(Linux)
internal import Foundation
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A network of its own, as long as a child process holds it.
final class Namespace: Sendable {
    struct Failure: Error {
        var command: String
        var status: Int32
    }

    /// Whether this machine lets the tests make networks: as root, and with iproute2.
    static let isAvailable: Bool = {
        guard geteuid() == 0, let namespace = try? Namespace() else { return false }
        return (try? namespace.ip("link add v0 type veth peer name v1")) != nil
    }()

    private let holder: Process
    private let input = Pipe()

    init() throws {
        let output = Pipe()
        self.holder = Self.process(["unshare", "--net", "sh", "-c", "echo ready; cat"])
        self.holder.standardInput = self.input
        self.holder.standardOutput = output
        try self.holder.run()
        guard try output.fileHandleForReading.read(upToCount: 1) != nil else {
            throw Failure(command: "unshare", status: -1)
        }
    }

    deinit {
        // The end of its input ends it.
        try? self.input.fileHandleForWriting.close()
        self.holder.waitUntilExit()
    }

    /// Runs `ip` in the network.
    func ip(_ arguments: String) throws {
        let process = Self.process(
            ["nsenter", "--target", "\(self.holder.processIdentifier)", "--net", "ip"]
                + arguments.split(separator: " ").map { String($0) })
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(command: arguments, status: process.terminationStatus)
        }
    }

    /// Runs `body` with this thread in the network: what it opens stays there.
    func inside<Result>(_ body: () throws -> Result) throws -> Result {
        let home = open("/proc/thread-self/ns/net", O_RDONLY)
        defer { close(home) }
        try Self.enter(open("/proc/\(self.holder.processIdentifier)/ns/net", O_RDONLY))
        defer { try? Self.enter(dup(home)) }
        return try body()
    }

    private static func process(_ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        return process
    }

    /// `setns`, which the system's module for Swift leaves out.
    private static func enter(_ descriptor: Int32) throws {
        defer { close(descriptor) }
        typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
        guard let symbol = dlsym(nil, "setns") else { throw Failure(command: "setns", status: -1) }
        let status = unsafeBitCast(symbol, to: SetNamespace.self)(descriptor, 0x4000_0000)
        guard status == 0 else { throw Failure(command: "setns", status: errno) }
    }
}
#endif
