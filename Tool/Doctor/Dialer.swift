import Foundation
import Linkspan
import LinkspanBackEnds
import LinkspanNetwork
import LinkspanRuntime

/// Reaches one server: look-ups, TCP connections, HTTP exchanges and WebSockets, each with a deadline.
struct Dialer: Sendable {
    /// An endpoint of HTTP or WebSocket; a WebSocket's is secure with `wss`.
    let url: ConnectionURL
    let headers: [StreamRequest.Header]
    let tls: TLSPolicy
    let proxy: NetworkProxy?
    let loop: any NetworkLoop
    var resolver = Resolver.system
    /// The origin of every request that names no other.
    var origin: String?
    /// The time for each step.
    var patience: Duration

    /// Makes a request of the server; `isSecure` overrides the URL's scheme.
    func request(
        _ target: String, _ purpose: StreamRequest.Purpose = .get, headers: [StreamRequest.Header] = [],
        origin: String? = nil, isSecure: Bool? = nil
    ) -> StreamRequest {
        let origin = (origin ?? self.origin).map { [(name: "Origin", value: $0)] } ?? []
        var request = StreamRequest(
            host: self.url.host, port: self.url.port, isSecure: isSecure ?? self.url.isSecure, target: target,
            headers: origin + headers + self.headers, tls: self.tls, deadline: self.patience, proxy: self.proxy)
        request.purpose = purpose
        return request
    }

    /// Carries out one exchange over a connection of its own.
    func exchange(_ request: StreamRequest) async -> Result<HTTPAnswer, ByteStreamError> {
        await withCheckedContinuation { continuation in
            self.loop.execute {
                self.loop.exchange(request, limit: 1 << 20) { continuation.resume(returning: $0) }
            }
        }
    }

    /// Begins to open a WebSocket.
    func open(
        _ target: String, headers: [StreamRequest.Header] = [], origin: String? = nil, subprotocols: [String] = []
    ) -> Conversation {
        let request = self.request(target, .upgrade, headers: headers, origin: origin)
        return Conversation(request, subprotocols: subprotocols, on: self.loop, within: self.patience)
    }

    /// The addresses of a name.
    func addresses(of name: String) async -> Result<[String], ByteStreamError> {
        let answer = Promise<Result<[String], ByteStreamError>>()
        self.resolver.resolve(name) { answer.fulfill($0) }
        let scheduler = SystemScheduler.shared
        return await answer.value(
            until: scheduler.now + self.patience, by: scheduler,
            or: .failure(ByteStreamError(timedOutIn: .resolving(.server))))
    }

    /// Connects by TCP to a numeric address, and closes the connection at once; returns 0, or the number of the error.
    static func error(at address: String, port: Int, within limit: Duration) async -> Int32 {
        let result = Promise<Int32>()
        // A thread, because the calls block; when the time is over, nobody waits for it any more.
        Thread.detachNewThread { result.fulfill(self.connect(address, port)) }
        let scheduler = SystemScheduler.shared
        return await result.value(until: scheduler.now + limit, by: scheduler, or: ETIMEDOUT)
    }

    private static func connect(_ address: String, _ port: Int) -> Int32 {
        var (hints, list) = (addrinfo(), UnsafeMutablePointer<addrinfo>?.none)
        (hints.ai_flags, hints.ai_protocol) = (AI_NUMERICHOST, Int32(IPPROTO_TCP))
        let code = getaddrinfo(address, "\(port)", &hints, &list)
        defer { freeaddrinfo(list) }
        guard code == 0, let info = list?.pointee else { return EADDRNOTAVAIL }
        let descriptor = socket(info.ai_family, info.ai_socktype, info.ai_protocol)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        return Foundation.connect(descriptor, info.ai_addr, info.ai_addrlen) == 0 ? 0 : errno
    }
}
