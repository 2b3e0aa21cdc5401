/// How the server of a secure stream is verified, and what it gets to see of this side.
///
/// Verification of chain, name, validity and key strength cannot be switched off, and no version below TLS 1.2 is spoken.
public struct TLSOptions: Sendable, Hashable {
    /// The certificate authorities that are trusted.
    public var trustRoots: TrustRoots
    /// Whether the operating system's authorities are trusted besides those of ``trustRoots``.
    public var addsSystemRoots: Bool
    /// The keys of which the verified chain must have one; empty for any.
    public var pins: Set<KeyDigest>
    /// The keys of which the verified chain must have none, whoever vouches for them.
    public var revokedPins: Set<KeyDigest>
    /// What is shown to a server that asks for a certificate.
    public var identity: Identity?
    /// The oldest version of TLS that is spoken.
    public var minimumVersion: Version

    /// Makes options; the operating system's authorities are trusted unless others are given.
    public init(
        trustRoots: TrustRoots = .system, addsSystemRoots: Bool = false, pins: Set<KeyDigest> = [],
        revokedPins: Set<KeyDigest> = [], identity: Identity? = nil, minimumVersion: Version = .tls12
    ) {
        self.trustRoots = trustRoots
        self.addsSystemRoots = addsSystemRoots
        self.pins = pins
        self.revokedPins = revokedPins
        self.identity = identity
        self.minimumVersion = minimumVersion
    }
}

extension TLSOptions {
    /// A PEM text: in a file, or in memory.
    enum Source: Sendable, Hashable {
        case file(String)
        case pem([UInt8])
    }

    /// A set of certificate authorities.
    public struct TrustRoots: Sendable, Hashable {
        /// Nil for those of the system.
        let source: Source?

        /// The authorities that the operating system trusts.
        public static let system = Self(source: nil)

        /// Only the authorities in a PEM file, which is read once, when a loop first needs it.
        public static func file(_ path: String) -> Self { Self(source: .file(path)) }

        /// Only the authorities in a PEM text, which may hold several.
        public static func pem(_ bytes: [UInt8]) -> Self { Self(source: .pem(bytes)) }
    }

    /// The oldest version of TLS that is spoken.
    public enum Version: Sendable, Hashable {
        /// TLS 1.2 and 1.3.
        case tls12
        /// TLS 1.3 alone.
        case tls13
    }

    /// The SHA-256 of a public key, as certificates hold it (RFC 7469 section 2.4).
    public struct KeyDigest: Sendable, Hashable {
        let bytes: [UInt8]

        /// Takes the 32 bytes of a digest; nil for any other number.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count == 32 else { return nil }
            self.bytes = bytes
        }
    }

    /// A certificate of this side, and its key.
    public struct Identity: Sendable, Hashable {
        /// The private key of a certificate.
        public struct Key: Sendable, Hashable {
            enum Source: Sendable, Hashable {
                case file(String)
                case pem(HiddenText)
            }

            let source: Source

            /// A key in a PEM file, without a password; read once, when a loop first needs it.
            public static func file(_ path: String) -> Self { Self(source: .file(path)) }

            /// A key as PEM, without a password.
            public static func pem(_ text: HiddenText) -> Self { Self(source: .pem(text)) }
        }

        let certificate: Source
        let key: Key

        /// An identity whose certificates, its own first, are in a PEM file.
        public static func file(_ path: String, key: Key) -> Self { Self(certificate: .file(path), key: key) }

        /// An identity whose certificates, its own first, are in a PEM text.
        public static func pem(_ bytes: [UInt8], key: Key) -> Self { Self(certificate: .pem(bytes), key: key) }
    }
}
