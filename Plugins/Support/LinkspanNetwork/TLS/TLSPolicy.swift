/// Rules for verifying the servers of secure endpoints, and the client's own certificate.
///
/// One value for every transport, and for everything a transport does to reach a server.
///
/// The certificate chain, the host's name, the validity and the strength of keys are always checked, and nothing below
/// TLS 1.2 is spoken; there is no switch that turns this off. What is checked is checked on every connect, before the
/// first byte of a request is sent.
public struct TLSPolicy: Sendable, Hashable {
    /// The authorities trusted to issue certificates.
    ///
    /// Default ``Roots/system``.
    public var roots: Roots
    /// Whether the system's authorities are trusted besides own ``roots``.
    ///
    /// Default false: own roots stand in their place.
    public var addsSystemRoots: Bool
    /// The keys of which the server's verified chain must have at least one: its own, or that of an authority above it.
    ///
    /// Default none: any key is accepted. Pins add to the other checks and replace none of them. Pin a spare key, too,
    /// or the loss of the server's key is the loss of every client.
    public var pins: Set<PublicKeyPin>
    /// Pins of revoked keys, such as a stolen one: a chain with any of them is rejected.
    ///
    /// Default none.
    public var revokedPins: Set<PublicKeyPin>
    /// The certificate for servers that ask for one.
    ///
    /// Default nil: nothing.
    public var clientCertificate: ClientCertificate?
    /// The oldest version of TLS that is spoken.
    ///
    /// Default TLS 1.2.
    public var minimumVersion: Version

    /// The system's authorities.
    public static let system = Self()

    /// Makes a policy; see the properties for the defaults.
    public init(
        roots: Roots = .system, addsSystemRoots: Bool = false, pins: Set<PublicKeyPin> = [],
        revokedPins: Set<PublicKeyPin> = [], clientCertificate: ClientCertificate? = nil,
        minimumVersion: Version = .tls12
    ) {
        self.roots = roots
        self.addsSystemRoots = addsSystemRoots
        self.pins = pins
        self.revokedPins = revokedPins
        self.clientCertificate = clientCertificate
        self.minimumVersion = minimumVersion
    }

    /// The authorities trusted to issue certificates.
    public enum Roots: Sendable, Hashable {
        /// The authorities that the system trusts.
        case system
        /// Only the authorities in this PEM file.
        case file(String)
        /// Only these authorities, in PEM.
        case pem([UInt8])
    }

    /// A version of TLS; none below 1.2 can be named.
    public enum Version: String, Sendable, Hashable {
        /// TLS 1.2 (RFC 5246).
        case tls12 = "1.2"
        /// TLS 1.3 (RFC 8446).
        case tls13 = "1.3"
    }
}

extension TLSPolicy: CustomStringConvertible {
    /// Everything but pins and keys, for comparing and explaining.
    public var description: String {
        var parts = [self.rootsText]
        if self.addsSystemRoots, self.roots != .system { parts.append("and the system's") }
        if !self.pins.isEmpty { parts.append("\(Self.list(self.pins))") }
        if !self.revokedPins.isEmpty { parts.append("revoked \(Self.list(self.revokedPins))") }
        if let own = self.clientCertificate { parts.append(own.description) }
        if self.minimumVersion != .tls12 { parts.append("TLS \(self.minimumVersion.rawValue) at least") }
        return parts.joined(separator: ", ")
    }

    private var rootsText: String {
        switch self.roots {
        case .system: "system roots"
        case .file(let path): "roots in \(path)"
        case .pem(let bytes): "own roots (\(PEMText.summary(bytes)))"
        }
    }

    private static func list(_ pins: Set<PublicKeyPin>) -> String {
        pins.map(\.description).sorted().joined(separator: " ")
    }
}

/// Says which text it is, without repeating it.
enum PEMText {
    static func summary(_ bytes: [UInt8]) -> String {
        "\(bytes.count) bytes, \(String(UInt(bitPattern: bytes.hashValue), radix: 16))"
    }
}
