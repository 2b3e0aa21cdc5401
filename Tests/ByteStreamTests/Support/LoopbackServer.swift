import LinkspanNetwork
import LinkspanRuntime
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

/// The server's end of one TCP connection, with blocking calls.
struct Peer: Sendable {
    let descriptor: Int32

    static let upgraded = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

    /// Reads up to `limit` bytes; empty at the end.
    func read(_ limit: Int = 65_536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { bytes, count in
            count = max(0, recv(self.descriptor, bytes.baseAddress, limit, 0))
        }
    }

    /// Reads a request's head up to its blank line.
    func readHead() -> String {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let next = self.read(1)
            guard !next.isEmpty else { break }
            bytes += next
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until the other side ends.
    func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let next = self.read(1 << 20)
            guard !next.isEmpty else { return bytes }
            bytes += next
        }
    }

    /// Returns false when the other side is gone.
    @discardableResult
    func write(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                send(self.descriptor, all.baseAddress.map { $0 + sent }, all.count - sent, Socket.sendFlags)
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func write(_ text: String) -> Bool { self.write(text.utf8) }

    /// Breaks the connection, behind all that was written.
    func reset() {
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        connect(self.descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Takes the request and says 101.
    @discardableResult
    func upgrade() -> String {
        let head = self.readHead()
        self.write(Self.upgraded)
        return head
    }

    /// Sends back what comes until the end.
    func echo() {
        while true {
            let bytes = self.read(1 << 18)
            guard !bytes.isEmpty, self.write(bytes) else { return }
        }
    }
}

extension Peer {
    /// Waits for a while; returns whether the other side is still there.
    func isOpen(for time: Duration) -> Bool {
        var interest = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&interest, 1, Int32(time.components.attoseconds / 1_000_000_000_000_000)) == 0
    }
}

/// Sets a variable of the environment; only in a process that has no other threads yet.
func setEnvironment(_ name: String, _ value: String) {
    setenv(name, value, 1)
}

/// The processor time that this process has used.
func processTime() -> Duration { .microseconds(Int(clock()) * 1_000_000 / Int(CLOCKS_PER_SEC)) }

/// Constants that systems type differently.
enum Socket {
    #if canImport(Glibc)
    static let stream = Int32(SOCK_STREAM.rawValue)
    static let sendFlags = Int32(MSG_NOSIGNAL)
    #else
    static let stream = SOCK_STREAM
    static let sendFlags: Int32 = 0
    #endif
}
