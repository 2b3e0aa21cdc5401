/// The reason TLS was not established: the cause of a ``/Linkspan/LinkspanError`` with code `tlsFailed`, and of one
/// with code `connectionLost` when the network cut the handshake off.
///
/// Nothing of the request was sent, except with ``clientCertificateRefused``: in TLS 1.3 the server looks at this
/// side's certificate after this side has looked at the server's, and the request may be on its way. More reasons may
/// be added.
public struct TLSFailure: Error, RawRepresentable, Sendable, Hashable {
    /// The name of the reason.
    public var rawValue: String

    /// Makes a reason from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A certificate of the server's chain has expired.
    public static let expired = Self(rawValue: "expired")
    /// A certificate of the server's chain is not valid yet; perhaps this machine's clock is wrong.
    public static let notYetValid = Self(rawValue: "notYetValid")
    /// The certificate is for another host.
    public static let wrongHost = Self(rawValue: "wrongHost")
    /// The certificate names no host by a subjectAltName, perhaps one by its common name, which does not count (RFC
    /// 9525 section 2).
    public static let noSubjectAltName = Self(rawValue: "noSubjectAltName")
    /// The certificate has a wildcard that looks like the host but does not cover it (RFC 6125 section 6.4.3).
    public static let wildcardMisuse = Self(rawValue: "wildcardMisuse")
    /// The URL has a numeric address, and the certificate does not have it.
    public static let wrongAddress = Self(rawValue: "wrongAddress")
    /// Nobody but the certificate itself vouches for it.
    public static let selfSigned = Self(rawValue: "selfSigned")
    /// The chain leads to an authority that is not trusted.
    public static let untrustedRoot = Self(rawValue: "untrustedRoot")
    /// The server sent nothing of its certificate's issuer, and no trusted authority is that issuer.
    public static let incompleteChain = Self(rawValue: "incompleteChain")
    /// A key is too short or a signature too weak: below 112 bits of security, such as RSA with 1,024 bits.
    public static let weakKey = Self(rawValue: "weakKey")
    /// The certificate is not meant for servers.
    public static let wrongPurpose = Self(rawValue: "wrongPurpose")
    /// No key of the chain is in ``TLSPolicy/pins``.
    public static let pinMismatch = Self(rawValue: "pinMismatch")
    /// A key of the chain is in ``TLSPolicy/revokedPins``.
    public static let revokedKey = Self(rawValue: "revokedKey")
    /// The server speaks no version of TLS from ``TLSPolicy/minimumVersion`` on.
    public static let versionTooOld = Self(rawValue: "versionTooOld")
    /// The connection ended in the middle of the handshake.
    public static let handshakeCut = Self(rawValue: "handshakeCut")
    /// The server does not accept ``TLSPolicy/clientCertificate``, or wants one.
    public static let clientCertificateRefused = Self(rawValue: "clientCertificateRefused")
    /// Another reason; see the error's message.
    public static let other = Self(rawValue: "other")
}

extension TLSFailure: CustomStringConvertible {
    /// The name of the reason.
    public var description: String { self.rawValue }
}
