import LinkspanNetwork
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

import LinkspanRuntime
import Testing

/// A TCP server on the loopback interface; each connection gets a thread and is closed when `serve` returns.
final class LoopbackServer: Sendable {
    private struct State: Sendable {
        var accepted: Set<Int32> = []
        var count = 0
        var isStopped = false
    }

    let port: Int
    private let listener: Int32
    private let state = Lock(State())

    convenience init(_ serve: @escaping @Sendable (Peer) -> Void) throws {
        try self.init("127.0.0.1", serve)
    }

    init(_ address: String, port: Int = 0, _ serve: @escaping @Sendable (Peer) -> Void) throws {
        let isIPv6 = address.contains(":")
        let listener = socket(isIPv6 ? AF_INET6 : AF_INET, Socket.stream, 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        try #require(Self.bindTo(listener, address, isIPv6: isIPv6, port: port) == 0)
        try #require(listen(listener, 1024) == 0)
        self.listener = listener
        self.port = Self.port(of: listener)
        let isStarted = SystemThread.start(name: "test-accept") { self.acceptAll(serve) }
        try #require(isStarted)
    }

    /// The number of connections taken so far.
    var acceptedCount: Int { self.state.withLock { $0.count } }

    /// Ends all connections and stops listening.
    func stop() {
        // Under the lock, or a number could be closed by its thread and be another's by the time it is used here.
        self.state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            shutdown(self.listener, Int32(SHUT_RDWR))
            for descriptor in state.accepted { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func acceptAll(_ serve: @escaping @Sendable (Peer) -> Void) {
        while true {
            let descriptor = accept(self.listener, nil, nil)
            guard descriptor >= 0 else { break }
            let isStopped = self.state.withLock { state in
                state.accepted.insert(descriptor)
                state.count += 1
                return state.isStopped
            }
            guard !isStopped, SystemThread.start(name: "test-peer", { self.run(descriptor, serve) }) else {
                self.hangUp(descriptor)
                continue
            }
        }
        close(self.listener)
    }

    private func run(_ descriptor: Int32, _ serve: @Sendable (Peer) -> Void) {
        serve(Peer(descriptor: descriptor))
        self.hangUp(descriptor)
    }

    private func hangUp(_ descriptor: Int32) {
        self.state.withLock { state in
            state.accepted.remove(descriptor)
            _ = close(descriptor)
        }
    }

    static func bindTo(_ socket: Int32, _ address: String, isIPv6: Bool, port: Int) -> Int32 {
        if isIPv6 {
            var place = sockaddr_in6()
            place.sin6_family = sa_family_t(AF_INET6)
            place.sin6_port = in_port_t(port).bigEndian
            inet_pton(AF_INET6, address, &place.sin6_addr)
            let size = socklen_t(MemoryLayout.size(ofValue: place))
            return withUnsafePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) }
            }
        }
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, address, &place.sin_addr)
        let size = socklen_t(MemoryLayout.size(ofValue: place))
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) }
        }
    }

    static func connectTo(_ socket: Int32, _ address: String, port: Int) {
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, address, &place.sin_addr)
        let size = socklen_t(MemoryLayout.size(ofValue: place))
        withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(socket, $0, size) }
        }
    }

    static func port(of socket: Int32) -> Int {
        var place = sockaddr_storage()
        var size = socklen_t(MemoryLayout.size(ofValue: place))
        return withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { known in
                known.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(socket, $0, &size) }
                return Int(in_port_t(bigEndian: known.pointee.sin_port))
            }
        }
    }
}

/// Opens and closes a listener, so that nothing listens on the port that it had.
func unusedPort() throws -> Int {
    let server = try LoopbackServer { _ in }
    server.stop()
    return server.port
}
