/// How the servers of secure endpoints are verified.
///
/// One value for every transport.
///
/// The certificate chain, the host's name and the validity are always checked, and nothing below TLS 1.2 is spoken; there
/// is no switch that turns this off.
public struct TLSPolicy: Sendable, Hashable {
    /// Who is trusted to issue certificates.
    ///
    /// Default ``Roots/system``.
    public var roots: Roots

    /// The system's authorities.
    public static let system = Self()

    /// Makes a policy.
    public init(roots: Roots = .system) { self.roots = roots }

    /// Who is trusted to issue certificates.
    public enum Roots: Sendable, Hashable {
        /// The authorities that the system trusts.
        case system
        /// Only the authorities in this PEM file.
        case file(String)
        /// Only these authorities, in PEM.
        case pem([UInt8])
    }
}

extension TLSPolicy: CustomStringConvertible {
    /// The kind of roots, for comparing and explaining.
    public var description: String {
        switch self.roots {
        case .system: "system roots"
        case .file(let path): "roots in \(path)"
        case .pem(let bytes):
            "own roots (\(bytes.count) bytes, \(String(UInt(bitPattern: bytes.hashValue), radix: 16)))"
        }
    }
}
