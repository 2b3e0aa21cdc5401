#if os(Linux)
@preconcurrency private import Dispatch
internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#endif

/// A socket on which the kernel tells that interfaces or addresses have changed.
///
/// It tells no more than that: the C library lists what there is then. So a message that is lost, or comes from another
/// process, does no harm. The system's modules for Swift leave netlink's header out, so its few numbers stand here; see
/// netlink(7).
struct RouteSocket: Sendable {
    private static let family: UInt16 = 16
    /// Changes of links, of IPv4 addresses and of IPv6 addresses.
    private static let groups: UInt32 = 0x1 | 0x10 | 0x100

    private let descriptor: Int32

    /// Opens a socket in the network namespace of the thread.
    init() throws(LinkspanError) {
        #if canImport(Glibc)
        let kind = Int32(SOCK_RAW.rawValue)
        #else
        let kind = SOCK_RAW
        #endif
        self.descriptor = socket(Int32(Self.family), kind, 0)
        guard self.descriptor >= 0 else { throw Self.failure("cannot be opened", errno) }
        _ = fcntl(self.descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(self.descriptor, F_SETFL, O_NONBLOCK)
        let address = SocketAddress(family: Self.family, groups: Self.groups)
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(self.descriptor, $0, socklen_t(MemoryLayout<SocketAddress>.size))
            }
        }
        guard result == 0 else {
            let number = errno
            close(self.descriptor)
            throw Self.failure("cannot be bound", number)
        }
    }

    /// The network path and its changes, until the task that reads them is cancelled; then the socket is closed.
    ///
    /// - Parameter list: lists the addresses of the machine, for tests in a network namespace.
    /// - Returns: the events.
    func events(
        _ list: @escaping @Sendable () throws(LinkspanError) -> [InterfaceAddress] = Self.addresses
    ) -> AsyncThrowingStream<NetworkEvent, any Error> {
        // Nobody reads slower than paths change; should it happen, the newest count.
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: NetworkEvent.self, bufferingPolicy: .bufferingNewest(64))
        let path = Lock(NetworkPath())
        let queue = DispatchQueue(label: "linkspan.path")
        let look = { @Sendable in
            do throws(LinkspanError) {
                try self.drain()
                let addresses = try list()
                if let event = path.withLock({ $0.changed(to: addresses) }) { continuation.yield(event) }
            } catch {
                continuation.finish(throwing: error)
            }
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: self.descriptor, queue: queue)
        source.setEventHandler(handler: look)
        source.setCancelHandler { close(self.descriptor) }
        continuation.onTermination = { _ in source.cancel() }
        queue.async(execute: look)
        source.resume()
        return stream
    }

    /// Takes all messages out.
    private func drain() throws(LinkspanError) {
        var byte: UInt8 = 0
        while true {
            // The rest of a message is dropped.
            guard recv(self.descriptor, &byte, 1, 0) < 0 else { continue }
            switch errno {
            case EAGAIN: return
            case EINTR, ENOBUFS: continue
            case let number: throw Self.failure("cannot be read", number)
            }
        }
    }

    static func addresses() throws(LinkspanError) -> [InterfaceAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { throw Self.failure("has no list of addresses", errno) }
        defer { freeifaddrs(first) }
        return sequence(first: first, next: { $0?.pointee.ifa_next }).compactMap { entry in
            guard let entry = entry?.pointee, let address = entry.ifa_addr else { return nil }
            let bytes: [UInt8]
            switch Int32(address.pointee.sa_family) {
            case AF_INET:
                bytes = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    withUnsafeBytes(of: $0.pointee.sin_addr, Array.init)
                }
            case AF_INET6:
                bytes = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    withUnsafeBytes(of: $0.pointee.sin6_addr, Array.init)
                }
            default: return nil
            }
            return InterfaceAddress(name: String(cString: entry.ifa_name), flags: entry.ifa_flags, bytes: bytes)
        }
    }

    private static func failure(_ what: String, _ number: Int32) -> LinkspanError {
        LinkspanError(
            LinkspanError.Code(rawValue: "pathUnknown"),
            "the netlink socket for the network path \(what): \(String(cString: strerror(number)))")
    }
}

/// `sockaddr_nl`.
private struct SocketAddress {
    var family: UInt16
    var padding: UInt16 = 0
    var port: UInt32 = 0
    var groups: UInt32
}
#endif
