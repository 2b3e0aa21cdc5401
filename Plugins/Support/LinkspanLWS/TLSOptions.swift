/// How the server of a secure stream is verified.
///
/// Verification of chain, name and validity cannot be switched off, and no version below TLS 1.2 is spoken.
public struct TLSOptions: Sendable, Hashable {
    /// The certificate authorities that are trusted.
    public var trustRoots: TrustRoots

    /// Makes options; the operating system's authorities are trusted unless others are given.
    public init(trustRoots: TrustRoots = .system) {
        self.trustRoots = trustRoots
    }
}

extension TLSOptions {
    /// A set of certificate authorities.
    public struct TrustRoots: Sendable, Hashable {
        enum Source: Sendable, Hashable {
            case system
            case file(String)
            case pem([UInt8])
        }

        let source: Source

        /// The authorities that the operating system trusts.
        public static let system = Self(source: .system)

        /// Only the authorities in a PEM file, which is read once, when a loop first needs it.
        public static func file(_ path: String) -> Self { Self(source: .file(path)) }

        /// Only the authorities in a PEM text, which may hold several.
        public static func pem(_ bytes: [UInt8]) -> Self { Self(source: .pem(bytes)) }
    }
}
