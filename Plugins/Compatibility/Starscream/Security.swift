internal import Logging
public import LinkspanNetwork

/// The rules for verifying servers; see ``FoundationSecurity``.
///
/// Where Starscream showed a pinner the server's `SecTrust` and took its word, the TLS library itself verifies here, and a
/// pinner says by what rules.
public protocol CertificatePinning: AnyObject {
    /// The rules: trusted authorities, and pins of keys.
    var policy: TLSPolicy { get }
}

extension CertificatePinning {
    /// Not there, so that a pinner without rules does not compile instead of being ignored.
    @available(*, unavailable, message: "no SecTrust is shown to pinners: return a TLSPolicy, with pins, from `policy`")
    public var policy: TLSPolicy { .system }
}

/// Verifies servers by the system's authorities, or by rules of the app's own.
public class FoundationSecurity: CertificatePinning {
    /// The rules.
    public let policy: TLSPolicy

    /// Verifies by the system's authorities.
    ///
    /// - Parameter allowSelfSigned: has no effect, which is logged as a warning: nothing switches verification off. Trust
    ///   the server's certificate by ``init(policy:)`` instead.
    public init(allowSelfSigned: Bool = false) {
        self.policy = .system
        if allowSelfSigned { processLog.warning("allowSelfSigned is ignored: use FoundationSecurity(policy:)") }
    }

    /// Verifies by rules of the app's own, such as pins, or a certificate that nobody else vouches for.
    public init(policy: TLSPolicy) { self.policy = policy }
}

/// Has messages compressed (RFC 7692), if the server supports it; see ``WSCompression``.
public protocol CompressionHandler {
    /// The number of bytes from which on a message is compressed.
    var threshold: Int { get }
}

extension CompressionHandler {
    /// Not there, so that a handler with an algorithm of its own does not compile instead of being ignored.
    @available(*, unavailable, message: "there is permessage-deflate alone: use WSCompression(), or set a `threshold`")
    public var threshold: Int { 0 }
}

/// Has messages compressed by permessage-deflate.
public class WSCompression: CompressionHandler {
    /// 256 bytes.
    public let threshold = 256

    /// Makes the handler.
    public init() {}
}

/// The log of the process.
let processLog = Logger(label: "linkspan.starscream")
