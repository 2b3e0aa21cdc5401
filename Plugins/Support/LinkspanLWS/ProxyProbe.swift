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
        switch reason.status {
        case 407:
            self.report(
                ByteStreamError(.proxyUnauthorized, "the proxy does not accept name and password", status: 407))
        case let status? where !(200...299).contains(status):
            self.report(
                ByteStreamError(
                    .proxyRefused, "the proxy answered with status \(status)", status: status,
                    retryAfter: reason.retryAfter))
        default: self.report(ByteStreamError(.proxyRefused, "the proxy refused the connection"))
        }
    }
}

extension ByteStreamError {
    /// The same, of an attempt in which it is the proxy that is looked up and reached.
    var ofProxy: Self {
        switch self.code {
        case .nameNotResolved: Self(.proxyUnreachable, "the proxy's name has no address")
        case .unreachable: Self(.proxyUnreachable, "no address of the proxy accepted the connection")
        default: self
        }
    }
}
