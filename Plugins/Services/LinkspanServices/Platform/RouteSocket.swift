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

/// A socket on which the kernel tells of interfaces and addresses.
///
/// The system's modules for Swift leave netlink's header out, so its few numbers stand here; see netlink(7).
struct RouteSocket: Sendable {
    private static let family: UInt16 = 16
    /// Changes of links, of IPv4 addresses and of IPv6 addresses.
    private static let groups: UInt32 = 0x1 | 0x10 | 0x100
    /// A request for all there is.
    private static let dumpFlags: UInt16 = 0x1 | 0x300
    /// More than the kernel puts into one datagram.
    private static let largestDatagram = 1 << 16

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

    /// The kernel's reports, until the task that reads them is cancelled; then the socket is closed.
    func events() -> AsyncThrowingStream<NetworkEvent, any Error> {
        // Nobody reads slower than paths change; should it happen, the newest count.
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: NetworkEvent.self, bufferingPolicy: .bufferingNewest(64))
        let session = Lock(RouteSession())
        let source = DispatchSource.makeReadSource(
            fileDescriptor: self.descriptor, queue: DispatchQueue(label: "linkspan.path"))
        source.setEventHandler {
            do throws(LinkspanError) {
                while let bytes = try self.receive(session) {
                    let outcome = session.withLock { $0.receive(bytes) }
                    if let number = outcome.failure { throw Self.failure("was refused an answer", number) }
                    if let event = outcome.event { continuation.yield(event) }
                    if let question = outcome.question { try self.ask(question) }
                }
            } catch {
                continuation.finish(throwing: error)
            }
        }
        source.setCancelHandler { close(self.descriptor) }
        continuation.onTermination = { _ in source.cancel() }
        source.resume()
        do throws(LinkspanError) {
            try self.ask(session.withLock { $0.begin() })
        } catch {
            continuation.finish(throwing: error)
        }
        return stream
    }

    /// The next datagram of the kernel; nil when there is none now.
    private func receive(_ session: Lock<RouteSession>) throws(LinkspanError) -> [UInt8]? {
        while true {
            var sender = SocketAddress(family: 0, groups: 0)
            let bytes = Self.datagram(self.descriptor, from: &sender)
            // Any process may write to this socket; only the kernel is trusted.
            if let bytes, sender.port == 0 { return bytes }
            guard bytes == nil else { continue }
            switch errno {
            case EINTR: continue
            case EAGAIN: return nil
            case ENOBUFS:
                // Messages were lost: all is asked for again.
                try self.ask(session.withLock { $0.begin() })
            case let number: throw Self.failure("cannot be read", number)
            }
        }
    }

    private static func datagram(_ descriptor: Int32, from sender: inout SocketAddress) -> [UInt8]? {
        var length = socklen_t(MemoryLayout<SocketAddress>.size)
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.largestDatagram) { buffer, count in
            let result = withUnsafeMutablePointer(to: &sender) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, buffer.baseAddress, Self.largestDatagram, 0, $0, &length)
                }
            }
            count = max(0, result)
        }
        return bytes.isEmpty ? nil : bytes
    }

    private func ask(_ question: RouteSession.Question) throws(LinkspanError) {
        let request = Request(kind: question.rawValue, flags: Self.dumpFlags)
        let sent = withUnsafeBytes(of: request) { send(self.descriptor, $0.baseAddress, $0.count, 0) }
        guard sent == MemoryLayout<Request>.size else { throw Self.failure("cannot be written to", errno) }
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

/// `nlmsghdr`, with an empty `rtgenmsg`, which stands for every family of addresses.
private struct Request {
    var length = UInt32(MemoryLayout<Request>.size)
    var kind: UInt16
    var flags: UInt16
    var sequence: UInt32 = 0
    var port: UInt32 = 0
    var body: UInt32 = 0
}
#endif
