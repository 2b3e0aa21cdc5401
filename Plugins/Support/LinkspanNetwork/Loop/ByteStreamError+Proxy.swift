extension ByteStreamError {
    private static let unreachable = "the server cannot be reached"

    /// The error when no address took the connection; the reason is that of the last one that failed.
    init(unreachable reason: String) {
        self.init(.unreachable, "\(Self.unreachable) (\(reason.prefix(1).lowercased())\(reason.dropFirst()))")
    }

    /// The same, of an attempt in which it is the proxy that is looked up and reached.
    package var ofProxy: Self {
        switch self.code {
        case .nameNotResolved: Self(.proxyUnreachable, "the proxy's name has no address")
        case .unreachable:
            Self(.proxyUnreachable, "the proxy cannot be reached\(self.message.dropFirst(Self.unreachable.count))")
        default: self
        }
    }

    /// The error of a proxy's answer to CONNECT; nil when it opens the connection.
    package init?(proxyStatus status: Int, retryAfter: Duration?) {
        switch status {
        case 200...299: return nil
        case 407:
            self.init(.proxyUnauthorized, "the proxy does not accept name and password", status: 407)
        default:
            self.init(
                .proxyRefused, "the proxy answered with status \(status)", status: status, retryAfter: retryAfter)
        }
    }
}
