#if LWS
internal import LinkspanNetwork

/// Asks a proxy once more that did not let a connection through, as a plain request whose answer can be read.
///
/// The library only says that a proxy did not answer 200, and forgets what it answered.
final class ProxyProbe: ByteStreamHandler {
    private let report: (ByteStreamError) -> Void

    /// Calls `report` once, on the loop's thread.
    init(_ report: @escaping (ByteStreamError) -> Void) { self.report = report }

    /// The request to ask with.
    static func request(_ proxy: HTTPProxy, for request: UpgradeRequest) -> UpgradeRequest {
        let place = NumericAddress.isIPv6(request.bareHost) ? "[\(request.bareHost)]" : request.bareHost
        var probe = UpgradeRequest(
            host: proxy.host, port: proxy.port, isSecure: false, target: "\(place):\(request.port)",
            headers: proxy.header.map { [$0] } ?? [], deadline: request.deadline)
        probe.purpose = .connect
        return probe
    }

    func opened(_ head: ResponseHead) {}
    func received(_ bytes: [UInt8]) {}
    func drained() {}

    func closed(_ reason: ByteStreamError) {
        let error = reason.status.flatMap { ByteStreamError(proxyStatus: $0, retryAfter: reason.retryAfter) }
        self.report(error ?? ByteStreamError(.proxyRefused, "the proxy refused the connection"))
    }
}
#endif
